// SPDX-License-Identifier: Apache-2.0
#include "native/process.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <new>
#include <stdexcept>

#include "tests/native/quiet.hpp"

using namespace nearpeak;

namespace {

int run(int count, double stall_s, const std::function<int(int)>& body) {
  return in_own_process([&] {
    SharedMemory memory(sizeof(Counter));
    auto* progress = new (memory.data()) Counter;
    return run_processes(count, progress->value, stall_s, body);
  });
}

}  // namespace

TEST_CASE("the worst status of the processes counts") {
  CHECK(run(2, 60, [](int) { return kGood; }) == kGood);
  CHECK(run(2, 60, [](int rank) { return rank == 0 ? kWrongData : kGood; }) == kWrongData);
  CHECK(run(2, 60, [](int rank) -> int {
          if (rank == 1) throw std::runtime_error("on purpose");
          while (true) pause();  // the other is ended
        }) == kFailed);
  CHECK(run(2, 60, [](int rank) -> int {
          if (rank == 0) raise(SIGKILL);
          while (true) pause();
        }) == kFailed);
}

TEST_CASE("processes that make no progress are ended") {
  CHECK(run(2, 0.1, [](int) -> int {
          while (true) pause();
        }) == kFailed);
}

TEST_CASE("processes end with their parent") {
  SharedMemory memory(2 * sizeof(Counter));
  auto* child = new (memory.data()) Counter;
  in_own_process([&]() -> int {
    std::atomic<std::uint64_t> none{0};
    return run_processes(1, none, 60, [&](int) -> int {
      child->value = getpid();
      kill(getppid(), SIGKILL);
      while (true) pause();
    });
  });
  const auto pid = static_cast<pid_t>(child->value.load());
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

TEST_CASE("two processes agree on the leader's value and tell it texts") {
  SharedMemory memory(sizeof(Desk));
  auto* desk = new (memory.data()) Desk;
  CHECK(run(2, 60, [&](int rank) {
          SharedTeam team(*desk, rank, Wait{true});
          for (std::uint64_t i = 0; i < 1000; ++i)
            if (team.agree(rank == 0 ? i : 77) != i) return kFailed;
          const std::string told = team.tell_leader("from " + std::to_string(rank));
          return told == (rank == 0 ? "from 1" : "") ? kGood : kFailed;
        }) == kGood);
}

TEST_CASE("a process is bound to the CPU that it asks for") {
  const int cpu = two_cpus()[1];
  CHECK(in_own_process([&] {
          bind_to_cpu(cpu);
          return this_place(0).cpus == std::vector<int>{cpu} ? 0 : 1;
        }) == 0);
  CHECK_THROWS_AS(check_cpus({65000}), BadInput);
}
