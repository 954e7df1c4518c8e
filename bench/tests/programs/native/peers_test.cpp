// SPDX-License-Identifier: Apache-2.0
// The mode `peers`, on the fake driver.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <set>

#include "programs/native/mode.hpp"
#include "tests/accel/fake.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

// `nearpeak-native peers` in a process of its own, with its output in a file.
int run(const RecordFile& file, const std::string& fake = "", const std::string& nvrtc = FAKE_NVRTC,
        std::vector<std::string> words = {"--devices", "0,1", "--size", "100001", "--rounds",
                                          "2"}) {
  const FakeCuda driver(fake, FAKE_CUDA_FORKED, nvrtc);
  return in_own_process([&]() -> int {
    (void)!std::freopen(file.path().c_str(), "w", stdout);
    try {
      const auto all = modes();
      Mode& peers = **std::find_if(all.begin(), all.end(),
                                   [](const auto& mode) { return mode->name() == "peers"; });
      CLI::App app;
      peers.add_options(app);
      std::reverse(words.begin(), words.end());  // as CLI11 takes them
      app.parse(words);
      const int status = peers.run();
      std::fflush(stdout);
      return status;
    } catch (const BadInput&) {
      return kBadInput;
    }
  });
}

// What came of the copies.
std::vector<nlohmann::json> results(const RecordFile& file) {
  auto all = file.records();
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const auto& line) {
                             return line["status"] == "copying" || line["status"] == "returned";
                           }),
            all.end());
  return all;
}

using Checked = std::set<std::string>;

// "0-1 ce" for each copy with this status.
Checked with_status(const RecordFile& file, const std::string& status) {
  Checked out;
  for (const auto& line : file.records())
    if (line["status"] == status)
      out.insert(std::to_string(line["from"].get<int>()) + "-" +
                 std::to_string(line["to"].get<int>()) + " " + line["way"].get<std::string>());
  return out;
}

}  // namespace

TEST_CASE("every two GPUs are joined by sound copies, both ways") {
  const RecordFile file;
  CHECK(run(file) == kGood);
  CHECK(results(file).size() == 8);
  CHECK(file.records().size() == 8 * (1 + 2 * 2));  // each round begins and returns
  CHECK(with_status(file, "right") == Checked{"0-1 ce", "0-1 ce-pull", "0-1 sm", "0-1 sm-pull",
                                              "1-0 ce", "1-0 ce-pull", "1-0 sm", "1-0 sm-pull"});
  for (const auto& line : file.records()) CHECK(line["bytes"] == 100001);
}

TEST_CASE("a flipped bit is reported with its direction, its ways and its offset") {
  const RecordFile file;
  CHECK(run(file, "flipped=1:0:4097") == kWrongData);
  CHECK(with_status(file, "wrong data") == Checked{"1-0 ce", "1-0 ce-pull"});
  CHECK(with_status(file, "right").size() == 6);
  for (const auto& line : file.records())
    if (line["status"] == "wrong data") {
      CHECK(line["offset"] == 4097);
      CHECK(line["wrong_bytes"] == 1);
      CHECK((line["expected"].get<unsigned>() ^ line["got"].get<unsigned>()) == 1);
    }
}

TEST_CASE("what a kernel leaves out is wrong, though the copy engines are right") {
  const Variable defect("NEARPEAK_FAKE_NVRTC",
                        "wide_to[i + j * step] = part[j];=>"
                        "if (i + j * step != 5) wide_to[i + j * step] = part[j];");
  const RecordFile file;
  CHECK(run(file) == kWrongData);
  CHECK(with_status(file, "right") == Checked{"0-1 ce", "0-1 ce-pull", "1-0 ce", "1-0 ce-pull"});
  for (const auto& line : file.records())
    if (line["status"] == "wrong data") {
      CHECK(line["offset"] == 5 * 16);
      CHECK(line["wrong_bytes"] == 16);
    }
}

TEST_CASE("a way that is not there is skipped with the reason") {
  const RecordFile without_kernels;
  CHECK(run(without_kernels, "", kNoNvrtc) == kGood);
  CHECK(with_status(without_kernels, "skipped") ==
        Checked{"0-1 sm", "0-1 sm-pull", "1-0 sm", "1-0 sm-pull"});
  CHECK(with_status(without_kernels, "right").size() == 4);
  for (const char* fault : {"peer=0", "cuIpcGetMemHandle:46"}) {
    CAPTURE(fault);
    const RecordFile apart;
    CHECK(run(apart, fault) == kGood);
    CHECK(with_status(apart, "skipped").size() == 8);
    for (const auto& line : results(apart))
      CHECK(line["message"].get<std::string>().find("cuIpc") != std::string::npos);
  }
}

TEST_CASE("a copy that fails has failed, and the others are compared all the same") {
  const RecordFile file;
  CHECK(run(file, "cuMemcpyAsync:719:6") == kFailed);
  const Checked failed = with_status(file, "failed");
  CHECK(!failed.empty());
  CHECK(failed.size() + with_status(file, "right").size() == 8);
  const RecordFile none;
  CHECK(run(none, "cuMemcpyAsync:719") == kFailed);
  CHECK(none.records().empty());
}

TEST_CASE("what came before the end of all ranks is printed, and the copy at which they ended") {
  bool printed = false;
  // A driver's call for a copy may be one for a pattern, too: at one of them it is ended at a copy.
  for (int call = 1; call <= 24 && !printed; ++call) {
    const RecordFile file;
    run(file, "flipped=1:0:4097,cuMemcpyAsync:-1:" + std::to_string(call));
    const auto begun = with_status(file, "copying");
    const auto compared = with_status(file, "wrong data");
    const auto returned = with_status(file, "returned");
    printed = compared == Checked{"1-0 ce"} &&
              !std::includes(returned.begin(), returned.end(), begun.begin(), begun.end());
  }
  CHECK(printed);
}

TEST_CASE("bad input of peers is refused") {
  const RecordFile file;
  CHECK(run(file, "", kNoNvrtc, {"--devices", "0"}) == kBadInput);
  CHECK(run(file, "", kNoNvrtc, {"--devices", "0,7"}) == kBadInput);
  CHECK(run(file, "", kNoNvrtc, {"--devices", "0,1", "--size", "0"}) == kBadInput);
  CHECK(run(file, "", kNoNvrtc, {"--devices", "0,1", "--rounds", "0"}) == kBadInput);
  CHECK(file.records().empty());
}
