// SPDX-License-Identifier: Apache-2.0
// The mode `links`, on the fake driver.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>

#include "programs/native/mode.hpp"
#include "tests/accel/fake.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

const std::set<std::string> kAll{"links_peers", "links_down", "links_up", "links_host",
                                 "links_all"};

// As `nearpeak-native links` does, in a process of its own.
int run_words(std::vector<std::string> words) {
  return in_own_process([&]() -> int {
    try {
      const auto all = modes();
      Mode& links = **std::find_if(all.begin(), all.end(),
                                   [](const auto& mode) { return mode->name() == "links"; });
      CLI::App app;
      links.add_options(app);
      std::reverse(words.begin(), words.end());  // as CLI11 takes them
      app.parse(words);
      return links.run();
    } catch (const BadInput&) {
      return kBadInput;
    }
  });
}

int run(const std::vector<std::string>& devices, const RecordFile& file,
        const std::vector<std::string>& more = {}, const std::string& fake = "",
        const std::string& nvrtc = kNoNvrtc, const std::string& sizes = "64,100001") {
  const auto two = rank_cpus();
  std::string cpus;
  std::string names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    cpus += (i == 0 ? "" : ",") + std::to_string(two[i % 2]);
    names += (i == 0 ? "" : ",") + devices[i];
  }
  std::vector<std::string> words{"--cpus",  cpus,        "--devices",       names,
                                 "--jsonl", file.path(), "--slot-ms",       "0.5",
                                 "--sizes", sizes,       "--least-samples", "3"};
  words.insert(words.end(), more.begin(), more.end());
  const FakeCuda driver(fake, FAKE_CUDA_FORKED, nvrtc);
  return run_words(words);
}

// Of which sizes each metric has samples.
std::map<std::string, std::set<std::size_t>> measured(const RecordFile& file) {
  std::map<std::string, std::set<std::size_t>> out;
  for (const auto& record : file.records("samples"))
    out[record["metric"]].insert(record["size_bytes"].get<std::size_t>());
  return out;
}

}  // namespace

TEST_CASE("every metric of links is measured at every size, with kernels and without") {
  for (const char* nvrtc : {kNoNvrtc, FAKE_NVRTC}) {
    const RecordFile file;
    CHECK(run({"0", "1"}, file, {}, "", nvrtc) == kGood);
    CHECK(file.records("problem").empty());
    for (const auto& record : file.records("samples")) {
      CHECK(record["benchmark"] == record["metric"]);
      CHECK(record["method"].is_null());
      CHECK(record["buffers"] == "D");
      CHECK(record["unit"] == "GB/s");
      CHECK(record["better"] == "higher");
      CHECK(record["verified"] == true);
      CHECK(record["samples"].size() >= 2);
      for (const auto& sample : record["samples"]) CHECK(sample > 0);
    }
    const auto all = measured(file);
    CHECK(all.size() == kAll.size());
    for (const auto& [metric, sizes] : all) {
      CHECK(kAll.count(metric) == 1);
      CHECK(sizes == std::set<std::size_t>{64, 100001});
    }
    const auto ranks = file.records("environment").at(0)["ranks"];
    CHECK(ranks[0]["device"]["name"] != ranks[1]["device"]["name"]);
  }
}

TEST_CASE("links measures what is asked for, and one GPU has no peers") {
  const RecordFile file;
  CHECK(run({"0", "1"}, file, {"--metrics", "links_up,links_peers"}) == kGood);
  CHECK(measured(file).size() == 2);
  const RecordFile alone;
  CHECK(run({"1"}, alone) == kGood);
  CHECK(alone.records("problem").empty());
  const auto all = measured(alone);
  CHECK(all.size() == 3);
  for (const char* metric : {"links_down", "links_up", "links_host"}) CHECK(all.count(metric) == 1);
}

TEST_CASE("a wrong byte on any link is seen") {
  // Without a gap behind the message, where the wrong byte of a filled slot would be.
  const RecordFile file;
  CHECK(run({"0", "1"}, file, {}, "corrupt=1", kNoNvrtc, "64,128K") == kWrongData);
  CHECK(file.records("samples").empty());
  const auto problems = file.records("problem");
  CHECK(problems.size() == 2 * kAll.size());
  for (const auto& problem : problems) {
    CHECK(problem["status"] == "wrong data");
    CHECK(problem["byte"] == problem["size_bytes"].get<std::size_t>() - 1);
  }
}

TEST_CASE("a GPU without memory for a case has it skipped, and the others go on") {
  const RecordFile file;
  CHECK(run({"0", "1"}, file, {"--metrics", "links_peers,links_up"}, "cuMemAlloc_v2:2:2") == kGood);
  REQUIRE(file.records("problem").size() == 1);
  CHECK(file.records("problem")[0]["message"].get<std::string>().find("CUDA_ERROR_OUT_OF_MEMORY") !=
        std::string::npos);
  CHECK(file.records("samples").size() == 3);
}

TEST_CASE("where processes may not share device memory only links to the host are measured") {
  for (const char* fault : {"cuIpcGetMemHandle:46", "peer=0"}) {
    CAPTURE(fault);
    const RecordFile file;
    CHECK(run({"0", "1"}, file, {}, fault) == kGood);
    CHECK(measured(file).size() == 3);
    const auto problems = file.records("problem");
    CHECK(problems.size() == 4);  // links_peers and links_all, of both sizes
    for (const auto& problem : problems) CHECK(problem["status"] == "skipped");
  }
}

TEST_CASE("bad input of links is refused before anything is written") {
  const RecordFile file;
  CHECK(run({"0", "1"}, file, {"--metrics", "links_sideways"}) == kBadInput);
  CHECK(run({"0", "1"}, file, {"--as-library"}) == kBadInput);
  CHECK(run({"0", "1"}, file, {}, "", kNoNvrtc, "0") == kBadInput);
  CHECK(run_words({"--cpus", "0,1", "--devices", "0", "--jsonl", file.path()}) == kBadInput);
  CHECK(run_words({"--cpus", "0", "--devices", "0,1", "--jsonl", file.path()}) == kBadInput);
  CHECK(file.records().empty());
}
