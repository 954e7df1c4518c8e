// SPDX-License-Identifier: Apache-2.0
#include "programs/native/tcp.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <stdlib.h>

#include <fstream>
#include <set>

#include "group/socket.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

TcpOptions short_tcp(const std::string& sizes, const RecordFile& file) {
  TcpOptions options;
  options.common = short_run(sizes, file.path());
  options.common.window = 5;
  options.cpus = two_cpus();
  options.address = "127.0.0.1";
  return options;
}

void forget_ranks() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    unsetenv(name);
}

int free_port() { return port_of(listen_on("127.0.0.1", 0)); }

}  // namespace

TEST_CASE("every TCP method moves every size of every metric rightly") {
  const RecordFile file;
  const TcpOptions options = short_tcp("0,1,7,64,1000,20000,3000001", file);
  CHECK(in_own_process([&] { return run_tcp(options, tcp_methods()); }) == kGood);
  CHECK(file.records("problem").empty());
  std::set<std::string> seen;
  for (const auto& record : file.records("samples")) {
    seen.insert(record["method"]);
    CHECK(record["benchmark"] == record["metric"]);
    CHECK((record["size_bytes"] > 0 || record["metric"] == "latency"));
    CHECK(record["needs"] == (record["method"] == "batched" ? nlohmann::json::array({"window"})
                                                            : nlohmann::json::array()));
    for (const double value : record["samples"]) CHECK(value > 0);
  }
  CHECK(seen.size() == tcp_methods().size());
}

TEST_CASE("two launched ranks find each other, however early the second one is") {
  for (const char* variable : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const RecordFile file;
    TcpOptions options = short_tcp("8", file);
    options.metrics = {"latency"};
    options.cpus.clear();
    options.peer = "127.0.0.1";
    options.port = free_port();
    const auto launch = [&](const char* rank) {
      return start_process([&] {
        forget_ranks();
        setenv(variable, rank, 1);
        return run_tcp(options, {tcp_methods()[0]});
      });
    };
    const pid_t early = launch("1");
    usleep(100'000);
    const pid_t late = launch("0");
    CHECK(await_process(late) == kGood);
    CHECK(await_process(early) == kGood);
    REQUIRE(file.records("environment").size() == 1);  // rank 0 alone writes
    CHECK(file.records("samples").size() == 1);
  }
}

TEST_CASE("a launched process that has no good rank or port is refused") {
  CHECK(in_own_process([] {
          TcpOptions options;
          options.peer = "127.0.0.1";
          options.port = 1;
          int refused = 0;
          const auto expect = [&] {
            try {
              run_tcp(options, tcp_methods());
            } catch (const BadInput&) {
              ++refused;
            }
          };
          forget_ranks();
          expect();
          for (const char* bad : {"2", "-1", "x", ""}) {
            setenv("PMI_RANK", bad, 1);
            expect();
          }
          setenv("PMI_RANK", "0", 1);
          options.port = 0;
          expect();
          return refused;
        }) == 6);
}

TEST_CASE("an address that is not this host's is refused") {
  const RecordFile file;
  TcpOptions options = short_tcp("8", file);
  options.address = "192.0.2.1";  // kept for documentation: nobody's
  CHECK_THROWS_AS(run_tcp(options, tcp_methods()), BadInput);
}

TEST_CASE("a rank that dies ends the other, with one line that says so") {
  for (const TcpMethod& method : {tcp_methods()[0], tcp_methods()[1]}) {
    const RecordFile file;
    const RecordFile said;
    TcpOptions options = short_tcp("8", file);
    options.common.slot_ms = 60'000;
    options.metrics = {"latency"};
    options.cpus.clear();
    options.peer = "127.0.0.1";
    options.port = free_port();
    const auto launch = [&](const char* rank) {
      return start_process(
          [&]() -> int {
            forget_ranks();
            setenv("PMI_RANK", rank, 1);
            try {
              return run_tcp(options, {method});
            } catch (const std::runtime_error& error) {
              std::fprintf(stderr, "%s\n", error.what());
              return kFailed;
            }
          },
          rank[0] == '0' ? said.path() : "/dev/null");
    };
    const pid_t leader = launch("0");
    const pid_t other = launch("1");
    for (int i = 0; i < 60'000 && file.records("environment").empty(); ++i) usleep(1000);
    CHECK(file.records("environment").size() == 1);
    kill(other, SIGKILL);
    CHECK(await_process(leader) == kFailed);
    await_process(other);
    std::ifstream lines(said.path());
    std::string line;
    std::getline(lines, line);
    CAPTURE(line);
    CHECK(line == kConnectionClosed);
  }
}
