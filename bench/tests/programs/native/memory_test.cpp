// SPDX-License-Identifier: Apache-2.0
#include "programs/native/memory.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "accel/host/copy.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

#if defined(__x86_64__)
constexpr std::size_t kTriads = 2;
#else
constexpr std::size_t kTriads = 1;
#endif

MemoryOptions short_memory(const RecordFile& file) {
  MemoryOptions options;
  options.common = short_run("100001,1M", file.path());
  options.cpus = this_place(0).cpus;
  if (options.cpus.size() > 3) options.cpus.resize(3);
  return options;
}

}  // namespace

TEST_CASE(
    "the best way to copy and to compute is named with its threads, as are all others of them") {
  for (const bool placed : {false, true}) {
    const RecordFile file;
    MemoryOptions options = short_memory(file);
    if (placed) options.node = 0;
    CHECK(in_own_process([&] { return run_memory(options); }) == kGood);
    CHECK(file.records("problem").empty());
    // In the order of measurement, the best way behind the trials.
    int whole = 0;
    std::vector<int> tried;
    std::set<std::string> methods;
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
        tried.push_back(threads);
        methods.insert(method);
        continue;
      }
      ++whole;
      for (const int other : tried) CHECK(other <= threads);
      // What one thread can do is always known, and what each other way does with as many.
      CHECK((threads == 1 || std::find(tried.begin(), tried.end(), 1) != tried.end()));
      const std::size_t kinds = record["metric"] == "copy" ? copy_kinds().size() : kTriads;
      CHECK(std::count(tried.begin(), tried.end(), threads) == static_cast<int>(kinds) - 1);
      CHECK(methods.count(method) == 0);
      tried.clear();
      methods.clear();
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
  options.common.sizes = "70000:80000";
  CHECK_THROWS_AS(run_memory(options), BadInput);
  options = short_memory(file);
  options.metrics = {"quadrad"};
  CHECK_THROWS_AS(run_memory(options), BadInput);
  CHECK(file.records().empty());
}

namespace {

// The kernel's word on caches, made up: each of these CPUs' last one is shared as said.
class Caches {
 public:
  Caches() {
    char name[] = "/tmp/nearpeak-test-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Caches() { std::filesystem::remove_all(folder_); }
  const std::string& folder() const { return folder_; }

  void add(int cpu, int index, int level, const std::string& type, const std::string& size,
           const std::string& shared) {
    const std::string cache =
        folder_ + "/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
    std::filesystem::create_directories(cache);
    std::ofstream(cache + "level") << level << "\n";
    std::ofstream(cache + "type") << type << "\n";
    std::ofstream(cache + "size") << size << "\n";
    std::ofstream(cache + "shared_cpu_list") << shared << "\n";
  }

 private:
  std::string folder_;
};

}  // namespace

TEST_CASE("every last-level cache of the CPUs counts once") {
  Caches caches;
  for (int cpu = 0; cpu < 24; ++cpu) {
    const int first = cpu / 8 * 8;
    const std::string own = std::to_string(cpu);
    caches.add(cpu, 0, 1, "Data", "32K", own);
    caches.add(cpu, 1, 1, "Instruction", "32K", own);
    caches.add(cpu, 2, 2, "Unified", "1024K", own);
    caches.add(cpu, 3, 3, "Unified", "32768K",
               std::to_string(first) + "-" + std::to_string(first + 7));
  }
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  CHECK(last_level_bytes(parse_cpus("0-7"), caches.folder()) == 32 * kMib);
  CHECK(last_level_bytes(parse_cpus("0-23"), caches.folder()) == 96 * kMib);
  CHECK(last_level_bytes({0, 1, 8}, caches.folder()) == 64 * kMib);
  CHECK(last_level_bytes({24}, caches.folder()) == 32 * kMib);  // of which nothing is said
}

TEST_CASE("arrays exceed the caches by default, where there is memory for them") {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  constexpr std::uint64_t kMuch = std::numeric_limits<std::uint64_t>::max();
  CHECK(uncached_bytes(8 * kMib, kMuch) == 64 * kMib);
  CHECK(uncached_bytes(32 * kMib, kMuch) == 128 * kMib);
  CHECK(uncached_bytes(12 * 32 * kMib, kMuch) == 1536 * kMib);
  CHECK(uncached_bytes(12 * 32 * kMib, 9216 * kMib) == 1536 * kMib);
  CHECK(uncached_bytes(12 * 32 * kMib, 9215 * kMib) == 768 * kMib);
  CHECK(uncached_bytes(12 * 32 * kMib, 0) == 96 * kMib);
}

TEST_CASE("arrays that exceed large caches are no messages, which would be too large") {
  MemoryOptions options;
  const std::size_t bytes =
      uncached_bytes(std::uint64_t{512} << 20, std::numeric_limits<std::uint64_t>::max());
  CHECK(bytes == std::size_t{2} << 30);
  options.common.sizes = std::to_string(bytes);
  CHECK(options.common.ordered_sizes() == std::vector<std::size_t>{bytes});
  options.common.sizes = "1000000G";
  CHECK_THROWS_AS(options.common.ordered_sizes(), BadInput);
}
