// SPDX-License-Identifier: Apache-2.0
#include "options/options.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

using namespace nearpeak;
using Sizes = std::vector<std::size_t>;

TEST_CASE("sizes are bytes, powers of 1024, ranges and lists of them") {
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("4K") == 4096);
  CHECK(parse_bytes("64M") == 64u << 20);
  CHECK(parse_bytes("1G") == 1u << 30);
  CHECK(parse_sizes("0:8") == Sizes{0, 1, 2, 4, 8});
  CHECK(parse_sizes("3:9") == Sizes{4, 8});
  CHECK(parse_sizes("8,1000,8,1K") == Sizes{8, 1000, 1024});
  CHECK(parse_sizes("0:64M").size() == 28);
}

TEST_CASE("sizes for people are rounded up") {
  CHECK(bytes_text_up(68822240384) == "65G");
  CHECK(bytes_text_up(std::uint64_t{64} << 30) == "64G");
  CHECK(bytes_text_up((512u << 20) + 1) == "513M");
  CHECK(bytes_text_up(192u << 10) == "192K");
  CHECK(bytes_text_up(10241) == "11K");
  CHECK(bytes_text_up(1001) == "1001");
  CHECK(parse_bytes(bytes_text_up(68822240384)) > 68822240384);
}

TEST_CASE("what is not a size is refused") {
  for (const char* bad : {"", "x", "-1", "4KB", "1.5K", "8,", ",8", "8:4", "1:2:3", "3G",
                          "99999999999999999999", "99999999999G"})
    CHECK_THROWS_AS(parse_sizes(bad), BadInput);
}

TEST_CASE("a message has at most as many bytes as MPI can count, other sizes what is asked for") {
  CHECK(parse_size("2147483647") == kLargestMessage);
  CHECK_THROWS_AS(parse_size("2G"), BadInput);
  constexpr std::size_t kGib = std::size_t{1} << 30;
  CHECK(parse_sizes("1G:4G,5G", 5 * kGib) == Sizes{kGib, 2 * kGib, 4 * kGib, 5 * kGib});
  CHECK_THROWS_AS(parse_sizes("6G", 5 * kGib), BadInput);
}

TEST_CASE("a range that holds no size is refused, and says what to give") {
  for (const char* empty : {"5:7", "8,5:7", "3:3", "1000:1000"})
    CHECK_THROWS_WITH_AS(parse_sizes(empty), doctest::Contains("holds no power of two"), BadInput);
  CHECK(parse_sizes("0:0") == Sizes{0});
  CHECK(parse_sizes("4:4,5:8") == Sizes{4, 8});
}

TEST_CASE("CPUs are numbers and ranges") {
  CHECK(parse_cpus("0,2,5-7") == std::vector<int>{0, 2, 5, 6, 7});
  for (const char* bad : {"", "a", "1-", "3-1", "1-2-3", "-1", "1,"})
    CHECK_THROWS_AS(parse_cpus(bad), BadInput);
}

TEST_CASE("large messages have a smaller window, and always one") {
  CommonOptions options;
  CHECK(options.window_at(1) == 64);
  CHECK(options.window_at(1 << 20) == 64);
  CHECK(options.window_at(16 << 20) == 4);
  CHECK(options.window_at(128 << 20) == 1);
  CHECK(options.window_at(0) == 64);
  options.with_device = true;
  CHECK(options.window_at(4 << 20) == 64);
  CHECK(options.window_at(16 << 20) == 16);
  options.in_flight = "16M";
  CHECK(options.window_at(4 << 20) == 4);
}

TEST_CASE("a case has 11 samples at least, or as many as are asked for, but 3") {
  const auto parsed = [](const std::string& text) {
    CommonOptions options;
    CLI::App app;
    options.add_to(app);
    app.parse(text);
    return options.least_samples;
  };
  CHECK(parsed("") == 11);
  CHECK(parsed("--least-samples 5") == 5);
  CHECK_THROWS_AS(parsed("--least-samples 2"), CLI::ValidationError);
}

TEST_CASE("a seed shuffles the sizes, and the same seed in the same way") {
  CommonOptions options;
  options.seed = 3;
  const auto once = options.ordered_sizes();
  CHECK(once == options.ordered_sizes());
  auto sorted = once;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == parse_sizes("0:64M"));
  CHECK(once != sorted);
}

TEST_CASE("the cache is that of the device where it is larger, or the one that is named") {
  CHECK(CommonOptions{}.cache_bytes(1 << 30) >= std::uint64_t{1} << 30);
  CommonOptions options;
  options.cache = 4096;
  CHECK(options.cache_bytes(1 << 30) == 4096);
}
