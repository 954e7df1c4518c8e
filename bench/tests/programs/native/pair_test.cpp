// SPDX-License-Identifier: Apache-2.0
#include "programs/native/pair.hpp"

#include <doctest/doctest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <set>

#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"
#include "tests/transport/host/poisoned.hpp"

using namespace nearpeak;

namespace {

// From now on this process and its children get EPERM from a system call.
void forbid(unsigned call) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(99);
}

int run(const ModeOptions& options, const std::vector<HostMethod>& methods = host_methods()) {
  return in_own_process([&] { return run_pair(options, methods); });
}

}  // namespace

TEST_CASE("every method moves every size of every metric rightly") {
  struct Sizes {
    std::string reuse, sizes;
    bool pairs;  // with the metrics of many pairs, of which there is one here
  };
  for (const auto& [reuse, sizes, pairs] :
       {Sizes{"fixed", "0,1,7,8,63,64,65,4096,100000,1M,2M", false},
        Sizes{"single", "0,8,65,100000,2M", true}, Sizes{"rotating", "128,4096,100000", true}}) {
    const RecordFile file;
    ModeOptions options = short_pair(sizes, file);
    options.metrics = {"latency", "bw", "bibw"};
    if (pairs) options.metrics.insert(options.metrics.end(), {"mbw_mr", "multi_lat"});
    options.common.reuse = reuse;
    options.common.touch = reuse == "single" ? "sender" : "none";
    options.common.window = 5;
    CHECK(run(options) == kGood);
    CHECK(file.records("problem").empty());
    REQUIRE(file.records("environment").size() == 1);
    CHECK(file.records("environment")[0]["program"] == "nearpeak-native");
    const auto ranks = file.records("environment")[0]["ranks"];
    REQUIRE(ranks.size() == 2);
    for (int rank = 0; rank < 2; ++rank)
      CHECK(ranks[rank]["cpus"] == std::vector<int>{options.cpus[rank]});

    std::set<std::string> seen;
    std::set<std::pair<std::string, std::size_t>> cases;
    for (const auto& record : file.records("samples")) {
      seen.insert(record["method"]);
      cases.emplace(record["metric"].get<std::string>(), record["size_bytes"].get<std::size_t>());
      CHECK((record["benchmark"] == record["metric"] || record["benchmark"] == "mbw_mr"));
      CHECK(record["axes"] == nlohmann::json{{"reuse", reuse}, {"touch", options.common.touch}});
      CHECK(record["window"] == (record["unit"] == "us" ? 1 : 5));
      for (const double value : record["samples"]) CHECK(value > 0);
    }
    if (reuse == "fixed")
      for (const HostMethod& method : host_methods()) CHECK(seen.count(method.name) == 1);
    const std::size_t rates = pairs ? 4 : 2, times = pairs ? 2 : 1;
    const std::size_t count = options.common.ordered_sizes().size();
    const std::size_t empty = reuse == "rotating" ? 0 : 1;  // nothing has no bandwidth
    CHECK(cases.size() == (rates + times) * count - rates * empty);
  }
}

TEST_CASE("the plateau is one more size, of rates alone") {
  const RecordFile file;
  ModeOptions options = short_pair("8,4096", file);
  options.plateau = 1 << 20;
  CHECK(run(options) == kGood);
  std::set<std::string> there;
  for (const auto& record : file.records("samples"))
    if (record["size_bytes"] == 1 << 20) there.insert(record["metric"]);
  CHECK(there == std::set<std::string>{"bw", "bibw"});
  const Benchmark& bw = find_benchmark("bw");
  CHECK(options.sizes_of(bw.info) == std::vector<std::size_t>{8, 4096, 1 << 20});
  options.plateau = 4096;
  CHECK(options.sizes_of(bw.info) == std::vector<std::size_t>{8, 4096});
}

TEST_CASE("more processes than CPUs take turns, each with its peer") {
  const RecordFile file;
  ModeOptions options = short_pair("8,40000", file);
  options.cpus = {two_cpus()[0], two_cpus()[1], two_cpus()[0], two_cpus()[1]};
  options.common.window = 3;
  options.metrics = {"mbw_mr", "multi_lat"};
  CHECK(run(options) == kGood);
  CHECK(file.records("problem").empty());
  CHECK(file.records("environment")[0]["ranks"].size() == 4);
}

TEST_CASE("as a library, the best transport alone is recorded under the benchmark's name") {
  const RecordFile file;
  ModeOptions options = short_pair("8,40000", file);
  options.as_library = true;
  CHECK(run(options) == kGood);
  const auto records = file.records("samples");
  REQUIRE(records.size() == 6);
  std::set<std::string> seen;
  for (const auto& record : records) {
    seen.insert(record["benchmark"]);
    CHECK(record["benchmark"] == record["metric"]);
    CHECK(record["method"] == nullptr);
    CHECK(record["axes"]["calls"] == (record["metric"] == "latency" ? "blocking" : "nonblocking"));
  }
  CHECK(seen == std::set<std::string>{"latency", "bw", "bibw"});
}

TEST_CASE("records tell how far the CPUs are from each other") {
  const bool apart = two_cpus()[0] != two_cpus()[1];
  if (!apart) MESSAGE("skipped: one CPU to run on");
  bool known = false;
  // A busy machine may keep one of the two waiting, and is not asked again in that run.
  for (int tries = 0; tries < 20 && !known; ++tries) {
    const RecordFile file;
    ModeOptions options = short_pair("8", file);
    options.cpus = two_cpus();
    options.metrics = {"latency"};
    CHECK(run(options) == kGood);
    for (const auto& record : file.records("samples")) {
      const auto& found = record["cache_line_ns"];
      if (found.empty()) continue;  // a short trial
      REQUIRE(found.size() == 1);
      if (found[0].is_number()) {
        CHECK(found[0] > 0);
        known = true;
      }
    }
    if (!apart) return;
  }
  CHECK(known);
}

TEST_CASE("when one process dies the other is ended too") {
  for (const int rank : {0, 1}) {
    const RecordFile file;
    const ModeOptions options = short_pair("100", file);
    const auto die = [rank](const HostEnd& end, char*, std::size_t, std::uint64_t) {
      if (end.messages.rank == rank) raise(SIGKILL);
      return true;
    };
    CHECK(run(options, {poisoned(die)}) == kFailed);
    CHECK(file.records("samples").empty());
  }
}

TEST_CASE("where the kernel forbids CMA it is skipped with the reason") {
  const RecordFile file;
  ModeOptions options = short_pair("2K", file);
  options.common.window = 2;
  CHECK(in_own_process([&] {
          forbid(SYS_process_vm_readv);
          return run_pair(options, host_methods());
        }) == kGood);
  const auto problems = file.records("problem");
  REQUIRE(problems.size() == 3);
  for (const auto& problem : problems) {
    CHECK(problem["status"] == "skipped");
    CHECK(problem["method"] == "cma");
    CHECK(problem["message"] == "process_vm_readv: Operation not permitted");
  }
  for (const auto& record : file.records("samples")) CHECK(record["method"] != "cma");
}

TEST_CASE("bad input is refused before anything is written") {
  const RecordFile file;
  const auto refused = [&](const std::function<void(ModeOptions&)>& change) {
    ModeOptions options = short_pair("8", file);
    change(options);
    CHECK_THROWS_AS(run_pair(options, host_methods()), BadInput);
    CHECK(file.records().empty());
  };
  const auto cpus = two_cpus();
  refused([&](ModeOptions& options) { options.cpus = {cpus[0]}; });
  refused([&](ModeOptions& options) { options.cpus = {cpus[0], 65000}; });
  refused([&](ModeOptions& options) { options.cpus = {cpus[0], cpus[1], cpus[0]}; });
  // Exactly two ranks are the rule of latency.
  refused([&](ModeOptions& options) { options.cpus = {cpus[0], cpus[1], cpus[0], cpus[1]}; });
  refused([](ModeOptions& options) { options.metrics = {"latency", "speed"}; });
  refused([](ModeOptions& options) { options.methods = {"telepathy"}; });
  refused([](ModeOptions& options) { options.common.jsonl = "/nowhere/records.jsonl"; });
}
