// SPDX-License-Identifier: Apache-2.0
#include "native/local/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

MemoryOptions short_memory(const RecordFile& file) {
  MemoryOptions options;
  options.common = short_run("100001,1M", file.path());
  options.cpus = this_place(0).cpus;
  if (options.cpus.size() > 3) options.cpus.resize(3);
  return options;
}

}  // namespace

TEST_CASE("the best way to copy and to compute is named with its threads, as are those of fewer") {
  for (const bool placed : {false, true}) {
    const RecordFile file;
    MemoryOptions options = short_memory(file);
    if (placed) options.node = 0;
    CHECK(in_own_process([&] { return run_memory(options); }) == kGood);
    CHECK(file.records("problem").empty());
    // In the order of measurement, the best way behind those of fewer threads.
    int whole = 0;
    std::vector<int> fewer;
    for (const auto& record : file.records("samples")) {
      CHECK(record["benchmark"] == record["metric"]);
      const std::string method = record["method"];
      const auto at = method.rfind(" x");
      REQUIRE(at != std::string::npos);
      const int threads = std::stoi(method.substr(at + 2));
      CHECK(threads >= 1);
      CHECK(threads <= static_cast<int>(options.cpus.size()));
      for (const double value : record["samples"]) CHECK(value > 0);
      CHECK(record["verified"] == true);
      if (record["trial"] == true) {
        CHECK(record["limited"] != nullptr);
        fewer.push_back(threads);
        continue;
      }
      ++whole;
      for (const int other : fewer) CHECK(other < threads);
      // What one thread can do is always known.
      CHECK((threads == 1 || std::find(fewer.begin(), fewer.end(), 1) != fewer.end()));
      fewer.clear();
    }
    CHECK(whole == 4);
  }
}

TEST_CASE("bad nodes, CPUs, sizes and buffers are refused") {
  const RecordFile file;
  MemoryOptions options = short_memory(file);
  options.node = 4000;
  CHECK_THROWS_AS(run_memory(options), BadInput);
  options = short_memory(file);
  options.cpus = {options.cpus[0], options.cpus[0]};
  CHECK_THROWS_AS(run_memory(options), BadInput);
  options = short_memory(file);
  options.common.sizes = "8";
  CHECK_THROWS_AS(run_memory(options), BadInput);
  options = short_memory(file);
  options.metrics = {"quadrad"};
  CHECK_THROWS_AS(run_memory(options), BadInput);
  CHECK(file.records().empty());
}

TEST_CASE("arrays exceed the caches by default") {
  CHECK(uncached_bytes() >= std::size_t{64} << 20);
}
