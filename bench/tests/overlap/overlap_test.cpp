// SPDX-License-Identifier: Apache-2.0
#include "overlap/overlap.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "sampling/clock.hpp"
#include "tests/benchmark/context.hpp"

using namespace nearpeak;

namespace {

// A message that takes so long, whatever is computed meanwhile.
class Taking final : public Communication {
 public:
  explicit Taking(double us) : ns_(static_cast<std::int64_t>(1e3 * us)) {}
  void begin() override {
    ++begun;
    until_ = now_ns() + ns_;
  }
  void test() override {}
  void finish() override {
    while (now_ns() < until_) {
    }
  }
  int begun = 0;

 private:
  const std::int64_t ns_;
  std::int64_t until_ = 0;
};

// Of a message of so long one iteration, once it has been used.
struct Timed {
  Timed(double us, double most_us) : communication(us) {
    CaseContext context = context_of(alone, 8);
    context.axes["compute"] = "cpu";
    context.axes["tests"] = "none";
    timer.emplace(context);
    timer->prepare_within(1e3 * most_us);
    timer->first_use(communication);
    CHECK(communication.begun == 1);
    timer->run(1, communication);
  }
  double compute_us() const { return timer->phases().ns()[1] / 1e3; }

  Alone alone;
  Taking communication;
  std::optional<OverlapTimer> timer;
};

// The longest computation that a few searches fit: a loaded machine makes them too short.
double longest_compute_us(double us, double most_us) {
  constexpr int kSearches = 5;
  double longest_us = 0;
  for (int i = 0; i < kSearches && longest_us <= us / 2; ++i)
    longest_us = std::max(longest_us, Timed(us, most_us).compute_us());
  return longest_us;
}

}  // namespace

TEST_CASE("what is computed takes as long as the message") {
  const Timed timed(500, 1e6);
  CHECK(timed.communication.begun > 10);
  CHECK(longest_compute_us(500, 1e6) > 250);
}

TEST_CASE("the search for a computation takes no longer than it may") {
  constexpr double kUs = 40'000;
  const Timed timed(kUs, kUs / 10);
  CHECK(timed.communication.begun == 4);  // used, tried once, timed alone and beside
  CHECK(longest_compute_us(kUs, kUs / 10) > kUs / 2);
}
