// SPDX-License-Identifier: Apache-2.0
// With transports between two processes that fail in ways which a look at the first message, or at
// one message, does not show.
#include "benchmark/runner.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "tests/benchmark/context.hpp"
#include "tests/transport/host/poisoned.hpp"

using namespace nearpeak;

namespace {

// Runs a transport alone that is poisoned so, and looks that it is caught. In a window of messages
// in a single buffer only the last one shows; `alone`: also where there is but one message.
void is_caught(const Poison& poison, const std::string& where = "", bool alone = true) {
  for (const std::string reuse : {"fixed", "rotating", "single"}) {
    CAPTURE(reuse);
    const RecordFile file;
    ModeOptions options = short_pair("24", file);
    options.common.reuse = reuse;
    options.common.window = 4;
    options.metrics = {"bw", "bibw"};
    if (alone) options.metrics = {"latency", "bw", "bibw"};
    if (reuse == "single" && !alone) continue;
    if (reuse == "single") options.metrics = {"latency"};
    CHECK(in_own_process([&] { return run_pair(options, {poisoned(poison)}); }) == kWrongData);
    CHECK(file.records("samples").empty());
    const auto problems = file.records("problem");
    CHECK(problems.size() == options.metrics.size());
    for (const auto& problem : problems) {
      CHECK(problem["status"] == "wrong data");
      CHECK(problem["method"] == "poisoned");
      CHECK(problem["message"].get<std::string>().find(where) != std::string::npos);
    }
  }
}

}  // namespace

namespace {

// Every message comes to rank 0 so many nanoseconds late.
Poison late_by(std::int64_t ns) {
  return [ns](const HostEnd& end, char*, std::size_t, std::uint64_t) {
    const std::int64_t until = now_ns() + ns;
    while (end.messages.rank == 0 && now_ns() < until) {
    }
    return true;
  };
}

}  // namespace

TEST_CASE("a transport that skips every k-th message is caught") {
  for (std::uint64_t k = 2; k <= 8; ++k) {
    CAPTURE(k);
    is_caught(
        [k](const HostEnd&, char*, std::size_t, std::uint64_t number) { return number % k != 0; });
  }
}

TEST_CASE("a transport that skips every k-th message is caught in windows that take long") {
  for (const std::uint64_t k : {2, 5, 8})
    for (const std::string reuse : {"fixed", "single"}) {
      CAPTURE(k);
      CAPTURE(reuse);
      const RecordFile file;
      ModeOptions options = short_pair("2M", file);
      options.common.reuse = reuse;
      options.common.window = reuse == "single" ? 1 : 4;
      options.metrics = {"bw", "bibw"};
      const auto skip = [k](const HostEnd&, char*, std::size_t, std::uint64_t number) {
        return number % k != 0;
      };
      CHECK(in_own_process([&] { return run_pair(options, {poisoned(skip)}); }) == kWrongData);
      CHECK(file.records("samples").empty());
    }
}

TEST_CASE("a transport that delivers late by one message is caught") {
  // What should have come now comes with the next one.
  is_caught([last = std::string()](const HostEnd& end, char* to, std::size_t bytes,
                                   std::uint64_t number) mutable {
    const std::size_t at = static_cast<std::size_t>(to - end.in.slot(0));
    const std::string now(end.peer.out.data() + at, bytes);
    if (number > 1) std::memcpy(to, last.data(), bytes);
    last = now;
    return number == 1;
  });
}

TEST_CASE("a transport that delivers to the wrong slot is caught") {
  is_caught(
      [](const HostEnd& end, char* to, std::size_t bytes, std::uint64_t) {
        const std::size_t slot = static_cast<std::size_t>(to - end.in.slot(0)) / end.stride;
        const std::size_t other = slot == 0 ? end.messages.slots - 1 : slot - 1;
        std::memcpy(end.in.slot(other), end.peer.out.data() + slot * end.stride, bytes);
        return false;
      },
      "", false);
}

TEST_CASE("a transport that writes behind a message is caught") {
  is_caught(
      [](const HostEnd&, char* to, std::size_t bytes, std::uint64_t) {
        to[bytes] ^= 1;
        return true;
      },
      "written behind the message");
}

TEST_CASE("one flipped byte at either end is wrong data, with its place, and the rest goes on") {
  for (const int rank : {0, 1}) {
    const RecordFile file;
    ModeOptions options = short_pair("100", file);
    options.metrics = {"latency"};
    const auto flip = [rank](const HostEnd& end, char* to, std::size_t bytes, std::uint64_t) {
      std::memcpy(to, end.peer.out.data(), bytes);
      if (end.messages.rank == rank) to[42] ^= 1;
      return false;
    };
    const std::vector<HostMethod> methods{host_method("flag"), poisoned(flip)};
    CHECK(in_own_process([&] { return run_pair(options, methods); }) == kWrongData);
    const auto problems = file.records("problem");
    REQUIRE(problems.size() == 1);
    CHECK(problems[0]["status"] == "wrong data");
    CHECK(problems[0]["method"] == "poisoned");
    CHECK(problems[0]["rank"] == rank);
    CHECK(problems[0]["byte"] == 42);
    REQUIRE(file.records("samples").size() == 1);
    CHECK(file.records("samples")[0]["method"] == "flag");
  }
}

TEST_CASE("a transport that one rank has no memory for is skipped, and the others are measured") {
  const RecordFile file;
  ModeOptions options = short_pair("8", file);
  options.metrics = {"latency"};
  HostMethod greedy = host_method("mapped");
  greedy.name = "greedy";
  greedy.make = [](const HostEnd& end) -> std::unique_ptr<Transport> {
    if (end.messages.rank == 1) throw std::bad_alloc();
    return host_method("mapped").make(end);
  };
  CHECK(in_own_process([&] { return run_pair(options, {greedy, host_method("flag")}); }) == kGood);
  REQUIRE(file.records("problem").size() == 1);
  CHECK(file.records("problem")[0]["method"] == "greedy");
  CHECK(file.records("problem")[0]["message"] == "rank 1: out of memory");
  CHECK(file.records("samples").size() == 1);

  // In the place of a library the others are enough, and without them the case is skipped.
  for (const bool alone : {false, true}) {
    const RecordFile library;
    options.common.jsonl = library.path();
    options.as_library = true;
    std::vector<HostMethod> methods{greedy};
    if (!alone) methods.push_back(host_method("flag"));
    CHECK(in_own_process([&] { return run_pair(options, methods); }) == kGood);
    CHECK(library.records("samples").size() == (alone ? 0 : 1));
    CHECK(library.records("problem").size() == (alone ? 1 : 0));
  }
}

TEST_CASE("a hopeless method ends after one iteration that is timed, which its record says") {
  const RecordFile file;
  ModeOptions options = short_pair("8", file);
  options.metrics = {"latency"};
  const std::vector<HostMethod> methods{host_method("mapped"), poisoned(late_by(20'000'000))};
  CHECK(in_own_process([&] { return run_pair(options, methods); }) == kGood);
  const auto records = file.records("samples");
  REQUIRE(records.size() == 2);
  for (const auto& record : records) {
    CHECK(record["verified"] == true);
    CHECK(record["trial"] == (record["method"] == "poisoned"));
    if (record["method"] != "poisoned") continue;
    CHECK(record["limited"] == "a short trial: slower than others");
    CHECK(record["samples"].size() == 1);
    CHECK(record["iterations"] == 1);
  }
}

namespace {

// Of a problem: its size is a side, and no number of bytes.
class Problem : public Case {
 public:
  Problem(std::size_t bytes, std::uint64_t& rounds, std::uint64_t fewest = kFewestRounds)
      : bytes_(bytes), rounds_(rounds), fewest_(fewest) {}
  void run(std::uint64_t) override {}
  std::vector<double> values(const Times& times) const override { return {times.us}; }
  std::size_t round_bytes() const override { return bytes_; }
  std::uint64_t fewest_rounds() const override { return fewest_; }
  void begin_round(std::uint64_t round, Part) override { rounds_ = round; }
  std::optional<Mismatch> wrong(std::uint64_t, Part) const override { return std::nullopt; }

 private:
  const std::size_t bytes_;
  std::uint64_t& rounds_;  // behind the timing
  const std::uint64_t fewest_;
};

// Rounds of verification of a problem of this side, which is so many bytes.
std::uint64_t rounds_of(std::size_t side, std::size_t bytes, std::uint64_t fewest = kFewestRounds) {
  const int status = in_own_process([&] {
    Alone alone;
    const CommonOptions common = short_run("8", "");
    std::uint64_t rounds = 0;
    const Benchmark benchmark{
        .info = {.name = "problem", .summary = "", .metrics = {{"problem", "us", "lower"}}},
        .make = [&](const CaseContext&) {
          return std::make_unique<Problem>(bytes, rounds, fewest);
        }};
    Runner runner(alone, common, {.program = "test", .buffers = "H"});
    runner.run(benchmark, context_of(alone, side));
    return static_cast<int>(rounds);
  });
  return static_cast<std::uint64_t>(status);
}

}  // namespace

TEST_CASE("how often a case is verified follows from its bytes, whatever its size is of") {
  CHECK(rounds_of(16384, std::size_t{2} << 30) == kFewestRounds);
  CHECK(rounds_of(16384, 1024) == kRounds);
  CHECK(rounds_of(std::size_t{1} << 30, 1024) == kRounds);
  CHECK(rounds_of(8, 1024, 2 * kRounds) == 2 * kRounds);
}

namespace {

// Four operations in an iteration, of which each has one part.
class Batch final : public Problem {
 public:
  using Problem::Problem;
  std::uint64_t operations() const override { return 4; }
  void run(std::uint64_t n) override {
    phases_.clear();
    phases_.add(0, 4e3 * static_cast<double>(n));
  }
  void run_round(std::uint64_t round) override { CHECK(round > 0); }
  std::optional<double> own_ns() const override { return phases_.ns()[0]; }
  const Phases& phases() const override { return phases_; }

 private:
  Phases phases_{{"part"}};
};

}  // namespace

TEST_CASE("times of a batch are those of one operation, and so are its phases") {
  const RecordFile file;
  const CommonOptions common = short_run("8", file.path());
  const int status = in_own_process([&] {
    Alone alone;
    std::uint64_t rounds = 0;
    const Benchmark benchmark{
        .info = {.name = "batch", .summary = "", .metrics = {{"batch", "us", "lower"}}},
        .make = [&](const CaseContext&) { return std::make_unique<Batch>(8, rounds); }};
    Runner runner(alone, common, {.program = "test", .buffers = "H"});
    runner.run(benchmark, context_of(alone, 8));
    return runner.status();
  });
  CHECK(status == kGood);
  REQUIRE(file.records("samples").size() == 1);
  const auto record = file.records("samples")[0];
  for (const auto& us : record["samples"]) CHECK(us == 1);
  for (const auto& us : record["phases"]["part"]) CHECK(us == 1);
}

TEST_CASE("with a case are recorded the bytes on links, and those that it moved in that time") {
  const RecordFile file;
  ModeOptions options = short_pair("1024,65536", file);
  options.metrics = {"latency", "bw"};
  options.common.window = 4;
  CHECK(in_own_process([&] { return run_pair(options, host_methods()); }) == kGood);
  const auto environment = file.records("environment")[0];
  for (const auto& link : environment["counters"]["links"]) {
    CHECK(link["rank"] == 0);
    CHECK(link["kind"].is_string());
  }
  std::size_t counted = 0;
  for (const auto& record : file.records("samples")) {
    CAPTURE(record.dump());
    // Of a method whose trial was enough nothing is counted, nor of messages that no rule judges.
    const bool judged = !record["trial"].get<bool>() && record["size_bytes"] == 65536;
    CHECK(record.contains("counted") == judged);
    if (!judged) continue;
    ++counted;
    const auto& payload = record["counted"]["payload"];
    const bool both = record["benchmark"] == "latency";
    const std::size_t window = record["window"];
    const std::uint64_t iterations = record["iterations"].get<std::uint64_t>() +
                                     record["warmup_iterations"].get<std::uint64_t>();
    const std::uint64_t sent = payload["sent_bytes"][0];
    CHECK(sent % (65536 * window) == 0);
    CHECK(sent >= 65536 * window * (iterations + kFewestRounds));
    CHECK(payload["received_bytes"][1] == sent);
    CHECK(payload["sent_bytes"][1] == (both ? sent : 0));
    CHECK(record["counted"]["seconds"] > 0);
  }
  CHECK(counted >= 2);
}

TEST_CASE("nothing is counted where the options say so") {
  const RecordFile file;
  ModeOptions options = short_pair("8", file);
  options.metrics = {"latency"};
  options.common.counters = false;
  CHECK(in_own_process([&] { return run_pair(options, host_methods()); }) == kGood);
  CHECK_FALSE(file.records("environment")[0].contains("counters"));
  for (const auto& record : file.records("samples")) CHECK_FALSE(record.contains("counted"));
}

namespace {

// The second figure is of its phase.
class Phased final : public Problem {
 public:
  using Problem::Problem;
  void run(std::uint64_t n) override {
    phases_.clear();
    phases_.add(0, 1e3 * static_cast<double>(n));
  }
  std::vector<double> values(const Times& times) const override {
    return {times.us, times.phases_us[0] / times.typical_phases_us[0]};
  }
  std::optional<double> own_ns() const override { return phases_.ns()[0]; }
  const Phases& phases() const override { return phases_; }

 private:
  Phases phases_{{"part"}};
};

}  // namespace

TEST_CASE("samples of every rank are kept, but not of a figure that phases make") {
  const RecordFile file;
  CommonOptions common = short_run("8", file.path());
  common.keep_ranks = true;
  const int status = in_own_process([&] {
    Alone alone;
    std::uint64_t rounds = 0;
    const Benchmark benchmark{
        .info = {.name = "phased",
                 .summary = "",
                 .metrics = {{"whole", "us", "lower"}, {"part", "ratio", "lower"}}},
        .make = [&](const CaseContext&) { return std::make_unique<Phased>(8, rounds); }};
    Runner runner(alone, common, {.program = "test", .buffers = "H"});
    runner.run(benchmark, context_of(alone, 8));
    return runner.status();
  });
  CHECK(status == kGood);
  const auto records = file.records("samples");
  REQUIRE(records.size() == 2);
  REQUIRE(records[0]["ranks"].size() == 1);
  CHECK(records[0]["ranks"][0] == records[0]["samples"]);
  CHECK(records[1]["samples"].size() > 0);
  CHECK(!records[1].contains("ranks"));
}

namespace {

// Which says what its messages are.
class Working final : public Problem {
 public:
  using Problem::Problem;
  std::optional<Work> work() const override { return Work{.messages = {64}}; }
};

struct Nowhere final : Transport {
  void begin_send(std::size_t, std::size_t) override {}
  void begin_receive(std::size_t, std::size_t) override {}
  void finish() override {}
};

}  // namespace

TEST_CASE("what a case over a transport must do is asked of all ranks") {
  const RecordFile file;
  const CommonOptions common = short_run("8", file.path());
  const auto measured = [&](Group& group) {
    std::uint64_t rounds = 0;
    const Benchmark benchmark{
        .info = {.name = "problem", .summary = "", .metrics = {{"problem", "us", "lower"}}},
        .messages =
            [](const CaseContext& context) {
              const int rank = context.group.rank();
              return Messages{8, 1, 1, true, true, rank, 1 - rank};
            },
        .make_over = [&](const CaseContext&, const Messages&, const Buffers&,
                         Transport&) { return std::make_unique<Working>(8, rounds); }};
    Runner runner(group, common, {.program = "test", .contest = true, .buffers = "H,H"});
    CaseContext context = context_of(group, 8);
    context.methods = [](const CaseContext&, const Messages&,
                         const Buffers& buffers) -> std::vector<Method> {
      return {{.name = "nowhere", .buffers = buffers, .unavailable = "", .make = [] {
                 return std::make_unique<Nowhere>();
               }}};
    };
    runner.run(benchmark, context);
    return runner.status();
  };
  CHECK(in_group(2, measured) == kGood);
  REQUIRE(file.records("samples").size() == 1);
  CHECK(file.records("samples")[0]["work"]["messages"] == std::vector<int>{64});
}

TEST_CASE("all ranks count, or none, as the leader's options say") {
  for (const bool leader_records : {true, false}) {
    CAPTURE(leader_records);
    const RecordFile file;
    const auto body = [&](SharedGroup& group) {
      const bool records = group.leads() == leader_records;
      const CommonOptions common = short_run("8", records ? file.path() : "");
      Runner runner(group, common, {.program = "test", .buffers = "H,H"});
      runner.count();
      runner.open(std::nullopt, {"{}", "{}"});
      group.barrier();
      return kGood;
    };
    CHECK(in_group(2, body) == kGood);
    const auto environments = file.records("environment");
    REQUIRE(environments.size() == (leader_records ? 1 : 0));
    if (leader_records) CHECK(environments[0].contains("counters"));
  }
}
