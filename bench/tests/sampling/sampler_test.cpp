// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.hpp"

#include <doctest/doctest.h>

using namespace nearpeak;

namespace {

// Work that takes at least so long.
void spend(double us) {
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(us * 1e3);
  while (now_ns() < end) {
  }
}

SamplingPolicy short_policy() {
  SamplingPolicy policy;
  policy.slot_s = 0.01;
  return policy;
}

}  // namespace

TEST_CASE("every sample is the time of one iteration, never less than it took") {
  Alone alone;
  const auto result = Sampler(alone, measure_clock()).measure(short_policy(), [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) spend(50);
  });
  REQUIRE(result.samples_us.size() >= 11);
  for (const double us : result.samples_us) CHECK(us >= 50);
  CHECK(result.iterations >= result.samples_us.size() * result.batch);
  CHECK(result.first_use_us >= 50);
  CHECK_FALSE(result.limited);
}

TEST_CASE("iterations that are too short for the clock are timed in batches") {
  Alone alone;
  std::uint64_t calls = 0;
  const ClockQuality coarse{1000, 20};  // a tick of one microsecond
  const auto result = Sampler(alone, coarse).measure(short_policy(), [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) spend(0.5);
    ++calls;
  });
  CHECK(result.batch >= 2);
  CHECK(result.samples_us.size() <= 512);
  CHECK(calls < result.iterations);
}

TEST_CASE("a disturbed warm-up does not leave samples that are too short for the clock") {
  Alone alone;
  int calls = 0;
  const ClockQuality coarse{1000, 20};
  const auto result = Sampler(alone, coarse).measure(short_policy(), [&](std::uint64_t n) {
    if (calls++ < 2) spend(5000);  // longer than a whole warm-up
    for (std::uint64_t i = 0; i < n; ++i) spend(0.5);
  });
  CHECK(result.batch >= 2);
}

TEST_CASE("a case that is too slow for its limit keeps what it has and says why") {
  Alone alone;
  SamplingPolicy policy = short_policy();
  policy.limit_s = 0.02;
  const auto result = Sampler(alone, measure_clock()).measure(policy, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) spend(4000);
  });
  CHECK(result.samples_us.size() < policy.min_samples);
  CHECK(result.samples_us.size() >= 1);
  CHECK(result.limited);
}

TEST_CASE("every buffer is used before anything is timed") {
  Alone alone;
  SamplingPolicy policy = short_policy();
  policy.min_warmup = 1000;
  const auto result = Sampler(alone, measure_clock()).measure(policy, [](std::uint64_t n) {
    spend(0.01 * static_cast<double>(n));
  });
  CHECK(result.warmup_iterations >= 1000);
}

TEST_CASE("quantiles lie between order statistics") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(quantile({10, 20}, 0.25) == 12.5);
  CHECK(quantile({7}, 0.95) == 7);
}
