// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/copy_helpers.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace nearpeak::layer {
namespace {

constexpr std::size_t kBytes = (std::size_t{256} << 10) + 77;

}  // namespace

TEST_CASE("copy helpers: every byte is copied once, whatever the length") {
  CopyHelpers helpers(3);
  std::vector<unsigned char> counts(kBytes);
  for (const std::size_t bytes : {std::size_t{1}, kBytes / 2, kBytes / 5, kBytes, kBytes - 64}) {
    std::fill(counts.begin(), counts.end(), 0);
    helpers.share(bytes, [&](std::size_t offset, std::size_t n) {
      for (std::size_t i = offset; i < offset + n; ++i) ++counts.at(i);
    });
    std::vector<unsigned char> once(kBytes);
    std::fill_n(once.begin(), bytes, 1);
    CHECK(counts == once);
  }
}

TEST_CASE("copy helpers: they copy at the same time, also after they slept") {
  CopyHelpers helpers(2);
  for (int again = 0; again < 3; ++again) {
    std::atomic<int> copying{0};
    std::mutex mutex;
    std::set<std::thread::id> threads;
    helpers.share(kBytes, [&](std::size_t, std::size_t) {
      ++copying;
      while (copying.load() < 3) std::this_thread::yield();
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    CHECK(threads.size() == 3);
    usleep(2000);
  }
}

TEST_CASE(
    "copy helpers: few bytes are copied by the thread that asks, as are all without helpers") {
  for (const std::size_t threads : {0, 2}) {
    CopyHelpers helpers(threads);
    int calls = 0;
    helpers.share(threads == 0 ? kBytes : 1000, [&](std::size_t, std::size_t) { ++calls; });
    CHECK(calls == 1);
  }
}

TEST_CASE("copy helpers: what a part throws is thrown when all are copied") {
  CopyHelpers helpers(2);
  for (const bool is_first : {true, false}) {
    std::atomic<std::size_t> copied{0};
    const auto copy = [&](std::size_t offset, std::size_t n) {
      copied += n;
      if ((offset == 0) == is_first) throw std::runtime_error("no such process");
    };
    CHECK_THROWS_WITH_AS(helpers.share(kBytes, copy), "no such process", std::runtime_error);
    CHECK(copied == kBytes);
  }
}

}  // namespace nearpeak::layer
