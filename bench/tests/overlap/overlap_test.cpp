// SPDX-License-Identifier: Apache-2.0
#include "overlap/overlap.hpp"

#include <doctest/doctest.h>

#include "sampling/clock.hpp"
#include "tests/benchmark/context.hpp"
#include "tests/sampling/tries.hpp"

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

// Whether one of a few searches fits a computation of at least half of the time.
bool fits_once(double us, double most_us) {
  return is_so_once([&] { return Timed(us, most_us).compute_us() > us / 2; }, 5);
}

}  // namespace

TEST_CASE("what is computed takes as long as the message") {
  const Timed timed(500, 1e6);
  CHECK(timed.communication.begun > 10);
  CHECK(fits_once(500, 1e6));
}

TEST_CASE("the search for a computation takes no longer than it may") {
  constexpr double kUs = 40'000;
  const Timed timed(kUs, kUs / 10);
  CHECK(timed.communication.begun == 4);  // used, tried once, timed alone and beside
  CHECK(fits_once(kUs, kUs / 10));
}
