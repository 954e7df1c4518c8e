// SPDX-License-Identifier: Apache-2.0
#include "native/pair.hpp"

#include <doctest/doctest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <set>

#include "tests/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

PairOptions short_pair(const std::string& sizes, const RecordFile& file) {
  PairOptions options;
  options.common = short_run(sizes, file.path());
  options.cpus = two_cpus();
  options.probe = false;
  return options;
}

PairMethod method_named(const std::string& name) {
  for (const PairMethod& method : pair_methods())
    if (method.name == name) return method;
  throw std::runtime_error("no method " + name);
}

// A method that does as `mapped`, and then something bad at one end.
PairMethod spoiled(const std::function<void(const PairEnd&)>& spoil) {
  class Spoiled final : public Transfer {
   public:
    Spoiled(const PairEnd& end, std::function<void(const PairEnd&)> spoil_it)
        : end_(end), whole_(method_named("mapped").make(end)), spoil_(std::move(spoil_it)) {}
    void iterate(std::uint64_t n) override {
      whole_->iterate(n);
      if (n > 0) spoil_(end_);
    }

   private:
    PairEnd end_;
    std::unique_ptr<Transfer> whole_;
    std::function<void(const PairEnd&)> spoil_;
  };
  return {"spoiled",
          0,
          ~std::size_t{0},
          no_inbox,
          always_available,
          [spoil](const PairEnd& end) -> std::unique_ptr<Transfer> {
            return std::make_unique<Spoiled>(end, spoil);
          }};
}

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

}  // namespace

TEST_CASE("every method moves every size of every metric rightly") {
  for (const std::string reuse : {"fixed", "rotating"}) {
    const RecordFile file;
    PairOptions options =
        short_pair(reuse == "fixed" ? "0,1,7,56,57,1000,4K,20000,300000,2000003" : "3000", file);
    options.common.reuse = reuse;
    options.common.window = 5;
    CHECK(in_own_process([&] { return run_pair(options, pair_methods()); }) == kGood);
    CHECK(file.records("problem").empty());
    REQUIRE(file.records("environment").size() == 1);
    const auto ranks = file.records("environment")[0]["ranks"];
    REQUIRE(ranks.size() == 2);
    for (int rank = 0; rank < 2; ++rank)
      CHECK(ranks[rank]["cpus"] == std::vector<int>{options.cpus[rank]});

    std::set<std::string> seen;
    for (const auto& record : file.records("samples")) {
      seen.insert(record["method"]);
      CHECK(record["benchmark"] == "pair");
      CHECK(record["axes"]["reuse"] == reuse);
      CHECK(record["window"] == (record["metric"] == "latency" ? 1 : 5));
      CHECK_FALSE(record["samples"].empty());
      for (const double value : record["samples"]) CHECK(value > 0);
    }
    for (const PairMethod& method : pair_methods())
      if (method.smallest <= 3000) CHECK(seen.count(method.name) == 1);
    for (const Metric& metric : options.metrics)
      for (const std::size_t bytes : options.common.ordered_sizes()) {
        const auto records = file.records("samples");
        const bool found = std::any_of(records.begin(), records.end(), [&](const auto& record) {
          return record["metric"] == metric.name && record["size_bytes"] == bytes;
        });
        CHECK(found == (bytes > 0 || metric.name == "latency"));
      }
  }
}

TEST_CASE("two processes of one CPU take turns") {
  const RecordFile file;
  PairOptions options = short_pair("8,40000", file);
  options.cpus = {two_cpus()[0], two_cpus()[0]};
  options.common.window = 3;
  CHECK(in_own_process([&] { return run_pair(options, pair_methods()); }) == kGood);
  CHECK(file.records("problem").empty());
}

TEST_CASE("one flipped byte at either end is wrong data, with its place") {
  for (const int rank : {0, 1}) {
    const RecordFile file;
    PairOptions options = short_pair("100", file);
    options.metrics = {pair_metrics()[0]};
    const auto flip = [rank](const PairEnd& end) {
      if (end.exchange.rank == rank) end.in.slot(0)[42] ^= 1;
    };
    const auto methods = {method_named("flag"), spoiled(flip)};
    CHECK(in_own_process([&] { return run_pair(options, methods); }) == kWrongData);
    const auto problems = file.records("problem");
    REQUIRE(problems.size() == 1);
    CHECK(problems[0]["status"] == "wrong data");
    CHECK(problems[0]["method"] == "spoiled");
    CHECK(problems[0]["rank"] == rank);
    CHECK(problems[0]["byte"] == 42);
    REQUIRE(file.records("samples").size() == 1);
    CHECK(file.records("samples")[0]["method"] == "flag");
  }
}

TEST_CASE("when one process dies the other is ended too") {
  for (const int rank : {0, 1}) {
    const RecordFile file;
    const PairOptions options = short_pair("100", file);
    const auto die = [rank](const PairEnd& end) {
      if (end.exchange.rank == rank) raise(SIGKILL);
    };
    CHECK(in_own_process([&] { return run_pair(options, {spoiled(die)}); }) == kFailed);
    CHECK(file.records("samples").empty());
  }
}

TEST_CASE("where the kernel forbids CMA it is skipped with the reason") {
  const RecordFile file;
  PairOptions options = short_pair("2K", file);
  options.common.window = 2;
  CHECK(in_own_process([&] {
          forbid(SYS_process_vm_readv);
          return run_pair(options, pair_methods());
        }) == kGood);
  const auto problems = file.records("problem");
  REQUIRE(problems.size() == options.metrics.size());
  for (const auto& problem : problems) {
    CHECK(problem["status"] == "skipped");
    CHECK(problem["method"] == "cma");
    CHECK(problem["message"] == "process_vm_readv: Operation not permitted");
  }
  for (const auto& record : file.records("samples")) CHECK(record["method"] != "cma");
}

TEST_CASE("a method that is slower is left at a short trial, which its record says") {
  const RecordFile file;
  PairOptions options = short_pair("8", file);
  options.metrics = {pair_metrics()[0]};
  const auto late = [](const PairEnd& end) {
    const std::int64_t until = now_ns() + 100'000;
    while (end.exchange.rank == 0 && now_ns() < until) {
    }
  };
  const auto methods = {method_named("mapped"), spoiled(late)};
  CHECK(in_own_process([&] { return run_pair(options, methods); }) == kGood);
  const auto records = file.records("samples");
  REQUIRE(records.size() == 2);
  for (const auto& record : records)
    if (record["method"] == "spoiled")
      CHECK(record["limited"] == "a short trial: slower than others");
}

TEST_CASE("bad CPUs are refused before anything is written") {
  const RecordFile file;
  PairOptions options = short_pair("8", file);
  options.cpus = {0};
  CHECK_THROWS_AS(run_pair(options, pair_methods()), BadInput);
  options.cpus = {two_cpus()[0], 65000};
  CHECK_THROWS_AS(run_pair(options, pair_methods()), BadInput);
  CHECK(file.records().empty());
}
