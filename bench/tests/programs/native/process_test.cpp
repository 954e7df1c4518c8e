// SPDX-License-Identifier: Apache-2.0
#include "programs/native/process.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "tests/programs/native/quiet.hpp"

using namespace nearpeak;

TEST_CASE("the worst status of the processes counts") {
  CHECK(in_group(2, [](SharedGroup&) { return kGood; }) == kGood);
  CHECK(in_group(2, [](SharedGroup& group) { return group.leads() ? kWrongData : kGood; }) ==
        kWrongData);
  CHECK(in_group(2, [](SharedGroup& group) -> int {
          if (!group.leads()) throw std::runtime_error("on purpose");
          while (true) pause();  // the other is ended
        }) == kFailed);
}

TEST_CASE("processes end with their parent") {
  SharedMemory memory(sizeof(Counter));
  auto* child = new (memory.data()) Counter;
  in_group(1, [&](SharedGroup&) -> int {
    child->tell(static_cast<std::uint64_t>(getpid()));
    kill(getppid(), SIGKILL);
    while (true) pause();
  });
  const auto pid = static_cast<pid_t>(child->told());
  REQUIRE(pid > 0);
  // Gone, or dead and not yet waited for by whoever adopted it.
  const auto ended = [pid] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    return !(file >> number >> name >> state) || state == "Z";
  };
  for (int i = 0; i < 1000 && !ended(); ++i) usleep(10'000);
  CHECK(ended());
}

TEST_CASE("a process is bound to the CPU that it asks for") {
  const int cpu = two_cpus()[1];
  CHECK(in_own_process([&] {
          bind_to_cpu(cpu);
          return this_place(0).cpus == std::vector<int>{cpu} ? 0 : 1;
        }) == 0);
  CHECK_THROWS_AS(check_cpus({65000}), BadInput);
}

TEST_CASE("processes that share a CPU are told of") {
  const int cpu = two_cpus()[0];
  std::ostringstream said;
  auto* before = std::cerr.rdbuf(said.rdbuf());
  check_cpus({cpu});
  CHECK(said.str().empty());
  check_cpus({cpu, cpu});
  std::cerr.rdbuf(before);
  CHECK(said.str().find("several processes share CPU " + std::to_string(cpu)) != std::string::npos);
}
