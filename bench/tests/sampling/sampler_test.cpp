// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.hpp"

#include <doctest/doctest.h>

#include <barrier>
#include <cstring>
#include <limits>
#include <thread>

#include "tests/sampling/tries.hpp"

using namespace nearpeak;

namespace {

// Work that takes at least so long.
void spend(double us) {
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(us * 1e3);
  while (now_ns() < end) {
  }
}

Measurement measure(const SamplingPolicy& policy, std::function<void(std::uint64_t)> repeat,
                    const ClockQuality& clock = measure_clock()) {
  Alone alone;
  Repeated repeated(std::move(repeat));
  return Sampler(alone, clock).measure(policy, repeated);
}

SamplingPolicy short_policy() {
  SamplingPolicy policy = usual_policy({});
  policy.slot_s = 0.01;
  return policy;
}

}  // namespace

TEST_CASE("every sample is the time of one iteration, never less than it took") {
  const auto result = measure(short_policy(), [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) spend(50);
  });
  REQUIRE(result.samples_us.size() >= 11);
  for (const double us : result.samples_us) CHECK(us >= 50);
  CHECK(result.iterations >= result.samples_us.size() * result.batch);
  CHECK(result.first_use_us >= 50);
  CHECK_FALSE(result.limited);
}

TEST_CASE("iterations that are too short for the clock are timed in batches") {
  const ClockQuality coarse{1000, 20};  // a tick of one microsecond
  CHECK(is_so_once([&] {
    std::uint64_t calls = 0;
    const auto result = measure(
        short_policy(),
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) spend(0.5);
          ++calls;
        },
        coarse);
    CHECK(result.samples_us.size() <= 512);
    return result.batch >= 2 && calls < result.iterations;
  }));
}

TEST_CASE("samples last as long as what is sampled asks for") {
  struct Unwaited final : Sampled {
    double least_sample_ns() const override { return 1e6; }
    void run(std::uint64_t n) override { spend(static_cast<double>(100 * n)); }
  } unwaited;
  Alone alone;
  CHECK(is_so_once([&] {
    const auto result = Sampler(alone, ClockQuality{1, 20}).measure(short_policy(), unwaited);
    CHECK(result.batch <= 10);
    return result.batch >= 2;
  }));
}

TEST_CASE("what it takes to begin a run is neither in its samples nor does it shorten them") {
  struct Woken final : Sampled {
    std::optional<double> own_ns() const override { return own; }
    void run(std::uint64_t n) override {
      spend(500);
      const std::int64_t begin = now_ns();
      spend(static_cast<double>(5 * n));
      own = static_cast<double>(now_ns() - begin);
    }
    double own = 0;
  } woken;
  Alone alone;
  const ClockQuality coarse{5000, 20};  // of which a sample takes 100 us
  CHECK(is_so_once([&] {
    const auto result = Sampler(alone, coarse).measure(short_policy(), woken);
    for (const double us : result.samples_us) CHECK(us >= 5);
    return result.batch >= 2 &&
           quantile(result.samples_us, 0) * static_cast<double>(result.batch) < 500;
  }));
}

TEST_CASE("what it takes to begin a run is no part of the first use") {
  struct Woken final : Sampled {
    std::optional<double> own_ns() const override { return 5000; }
    void run(std::uint64_t n) override { spend(5 * static_cast<double>(n)); }
  } woken;
  Alone alone;
  CHECK(Sampler(alone, ClockQuality{1, 20}).measure(short_policy(), woken).first_use_us == 5);
}

TEST_CASE("a disturbed warm-up does not leave samples that are too short for the clock") {
  const ClockQuality coarse{1000, 20};
  CHECK(is_so_once([&] {
    int calls = 0;
    const auto result = measure(
        short_policy(),
        [&](std::uint64_t n) {
          if (calls++ < 2) spend(5000);  // longer than a whole warm-up
          for (std::uint64_t i = 0; i < n; ++i) spend(0.5);
        },
        coarse);
    return result.batch >= 2;
  }));
}

TEST_CASE("a case that is too slow for its limit keeps what it has and says why") {
  SamplingPolicy policy = short_policy();
  policy.limit_s = 0.02;
  const auto result = measure(policy, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) spend(4000);
  });
  CHECK(result.samples_us.size() < policy.least_samples);
  CHECK(result.samples_us.size() >= 1);
  CHECK(result.limited);
}

namespace {

// A slot that is far longer than the limit.
SamplingPolicy limited_policy(double limit_s) {
  SamplingPolicy policy = usual_policy({});
  policy.slot_s = 10;
  policy.limit_s = limit_s;
  return policy;
}

}  // namespace

TEST_CASE("what becomes far slower than its warm-up foretold is seen within the limit") {
  constexpr std::uint64_t kForetold = 200'000;  // of 1 us, within the limit
  CHECK(is_so_once([] {
    std::uint64_t done = 0;
    measure(limited_policy(0.2), [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) spend(++done > 300 ? 100 : 1);
    });
    CHECK(done < kForetold / 10);
    return done > 300;
  }));
}

TEST_CASE("a warm-up ends at a share of the limit, however long the slot is") {
  SamplingPolicy policy = limited_policy(0.2);
  std::uint64_t calls = 0;
  const auto unsteady = [&](std::uint64_t n) {
    spend((++calls % 2 == 0 ? 5 : 10) * static_cast<double>(n));
  };
  constexpr std::uint64_t kMost = 20'000;  // of 20 ms, and of the batch that goes on beyond
  CHECK(measure(policy, unsteady).warmup_iterations < kMost);
  policy.min_warmup = 1'000'000;  // buffers
  CHECK(is_so_once([&] {
    const auto result = measure(policy, unsteady);
    CHECK(result.warmup_iterations < kMost);
    return result.iterations > result.warmup_iterations;
  }));
}

TEST_CASE("as many samples are kept of what the limit leaves of a slot as of a whole one") {
  CHECK(is_so_once([] {
    const auto result =
        measure(limited_policy(0.1), [](std::uint64_t n) { spend(5 * static_cast<double>(n)); });
    return result.samples_us.size() >= 64 && !result.limited;
  }));
}

TEST_CASE("rounds are few: each begins with an iteration that is not timed") {
  std::uint64_t runs = 0;
  const auto result = measure(short_policy(), [&](std::uint64_t n) {
    spend(50 * static_cast<double>(n));
    runs += n;
  });
  CHECK(runs - result.iterations - result.warmup_iterations <= 6);
}

TEST_CASE("what is prepared has a share of the limit, and a first use is that of one operation") {
  struct Prepared final : Sampled {
    void prepare_within(double ns) override { most_ns = ns; }
    void first_use() override {
      prepared_first = most_ns > 0;
      spend(20);
    }
    void run(std::uint64_t n) override { spend(2000 * static_cast<double>(n)); }
    double most_ns = 0;
    bool prepared_first = false;
  };
  Alone alone;
  SamplingPolicy policy = short_policy();
  policy.limit_s = 0.1;
  CHECK(is_so_once([&] {
    Prepared prepared;
    const auto result = Sampler(alone, ClockQuality{1, 20}).measure(policy, prepared);
    CHECK(prepared.prepared_first);
    CHECK(prepared.most_ns < 0.5e8);
    return result.first_use_us < quantile(result.samples_us, 0);
  }));
}

TEST_CASE("what is longer than a slot is not run once more before it is timed") {
  std::uint64_t runs = 0;
  SamplingPolicy policy = short_policy();
  policy.slot_s = 0.001;
  policy.least_samples = 3;
  const auto result = measure(policy, [&](std::uint64_t n) {
    spend(2000);
    runs += n;
  });
  CHECK(result.iterations == 3);
  CHECK(runs == result.warmup_iterations + result.iterations);
}

TEST_CASE("an iteration that is hopeless is the only sample") {
  SamplingPolicy policy = short_policy();
  const auto slow = [&policy] {
    return measure(policy, [](std::uint64_t n) { spend(15'000 * static_cast<double>(n)); });
  };
  policy.hopeless_us = 10'000;
  CHECK(slow().hopeless);
  CHECK(slow().samples_us.size() == 1);
  CHECK(slow().samples_us[0] >= 15'000);
  policy.slot_s = 10;  // which it is not longer than
  policy.limit_s = 0.02;
  CHECK_FALSE(slow().hopeless);
  policy = short_policy();
  policy.hopeless_us = std::numeric_limits<double>::infinity();
  policy.limit_s = 0.02;
  CHECK_FALSE(slow().hopeless);
}

TEST_CASE("what takes longer than its budget twice is given up") {
  SamplingPolicy policy = short_policy();
  policy.budget_us = 10'000;
  std::uint64_t runs = 0;
  const auto slow = [&](std::uint64_t slow_runs) {
    runs = 0;
    return measure(policy, [&](std::uint64_t n) {
      if (runs < slow_runs) spend(15'000);
      runs += n;
    });
  };
  const auto given_up = slow(2);
  CHECK(given_up.too_slow);
  CHECK(runs == 2);
  CHECK(given_up.samples_us.size() == 1);
  CHECK(given_up.samples_us[0] >= 15'000);
  // The first may be slow for what is done once.
  CHECK_FALSE(slow(1).too_slow);
}

TEST_CASE("every buffer is used before anything is timed, if that fits into a slot") {
  SamplingPolicy policy = short_policy();
  policy.min_warmup = 1000;
  CHECK(is_so_once([&] {
    const auto result =
        measure(policy, [](std::uint64_t n) { spend(0.01 * static_cast<double>(n)); });
    return result.warmup_iterations >= 1000;
  }));
}

namespace {

// One process, whose barrier takes so long.
class SlowBarrier final : public Group {
 public:
  explicit SlowBarrier(double us) : us_(us) {}
  int rank() const override { return kLeaderRank; }
  int size() const override { return 1; }
  void barrier() override {
    spend(us_);
    ++barriers_;
  }
  void broadcast(void*, std::size_t) override {}
  void gather(const void* mine, std::size_t bytes, void* all) override {
    std::memcpy(all, mine, bytes);
  }
  using Group::broadcast;
  using Group::gather;
  std::uint64_t barriers() const { return barriers_; }

 private:
  const double us_;
  std::uint64_t barriers_ = 0;
};

// Two phases, of which the second takes twice as long.
class Phased final : public Sampled {
 public:
  void run(std::uint64_t n) override {
    spend(30 * static_cast<double>(n));
    phases_.clear();
    phases_.add(0, 10e3 * static_cast<double>(n));
    phases_.add(1, 20e3 * static_cast<double>(n));
  }
  const Phases& phases() const override { return phases_; }

 private:
  Phases phases_{{"first", "second"}};
};

}  // namespace

TEST_CASE("the barrier is not timed, and phases are kept with their samples") {
  SlowBarrier group(100);
  Phased phased;
  SamplingPolicy policy = short_policy();
  policy.sync = Sync::kBarrier;
  // A clock measured on a busy machine looks coarse, and longer batches are right then.
  const auto result = Sampler(group, ClockQuality{20, 20}).measure(policy, phased);
  CHECK(result.batch == 1);
  CHECK(median(result.samples_us) < 100);
  REQUIRE(result.phases_us.size() == 2);
  REQUIRE(result.phases_us[1].size() == result.samples_us.size());
  CHECK(median(result.phases_us[0]) == 10);
  CHECK(median(result.phases_us[1]) == 20);
}

TEST_CASE("where samples are those of the slowest rank, so are their phases") {
  // The leader of two, of which the other takes twice as long.
  struct Slower final : Group {
    int rank() const override { return kLeaderRank; }
    int size() const override { return 2; }
    void barrier() override {}
    void broadcast(void*, std::size_t) override {}
    void gather(const void* mine, std::size_t bytes, void* all) override {
      auto* const to = static_cast<double*>(all);
      const auto* const from = static_cast<const double*>(mine);
      const std::size_t count = bytes / sizeof(double);
      for (std::size_t i = 0; i < count; ++i) to[count + i] = 2 * (to[i] = from[i]);
    }
    using Group::broadcast;
    using Group::gather;
  } group;
  Phased phased;
  SamplingPolicy policy = short_policy();
  policy.sync = Sync::kBarrier;
  policy.reduce = Reduce::kMaximum;
  const auto result = Sampler(group, ClockQuality{20, 20}).measure(policy, phased);
  REQUIRE(result.phases_us.size() == 2);
  CHECK(median(result.samples_us) >= 60);
  CHECK(median(result.phases_us[0]) == 20);
  CHECK(median(result.phases_us[1]) == 40);
  CHECK(median(result.shortest_phases_us[1]) == 20);
  CHECK(median(result.mean_phases_us[1]) == 30);
}

namespace {

// A group of threads, each of which calls work(group of its own).
class Threads {
 public:
  template <class Work>
  void run(int size, Work work) {
    std::barrier<> gate(size);
    mine_.resize(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        Member member(rank, gate, *this);
        work(member);
      });
    for (std::thread& thread : threads) thread.join();
  }
  std::size_t most_gathered() const { return most_gathered_; }  // bytes of all ranks at once

 private:
  class Member final : public Group {
   public:
    Member(int rank, std::barrier<>& gate, Threads& all) : rank_(rank), gate_(gate), all_(all) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(all_.mine_.size()); }
    void barrier() override { gate_.arrive_and_wait(); }
    void broadcast(void* data, std::size_t bytes) override {
      show(data);
      if (!leads()) std::memcpy(data, all_.mine_[kLeaderRank], bytes);
      barrier();
    }
    void gather(const void* mine, std::size_t bytes, void* to) override {
      show(mine);
      if (leads()) all_.most_gathered_ = std::max(all_.most_gathered_, bytes * all_.mine_.size());
      for (std::size_t rank = 0; rank < all_.mine_.size() && bytes > 0; ++rank)
        std::memcpy(static_cast<char*>(to) + rank * bytes, all_.mine_[rank], bytes);
      barrier();
    }
    using Group::broadcast;
    using Group::gather;

   private:
    void show(const void* mine) {
      all_.mine_[static_cast<std::size_t>(rank_)] = mine;
      barrier();
    }
    const int rank_;
    std::barrier<>& gate_;
    Threads& all_;
  };

  std::vector<const void*> mine_;
  std::size_t most_gathered_ = 0;
};

// Of two ranks now one takes long, and now the other.
class InTurns final : public Sampled {
 public:
  InTurns(int rank, double us) : rank_(rank), us_(us) {}
  void run(std::uint64_t n) override {
    phases_.clear();
    for (std::uint64_t i = 0; i < n; ++i) {
      const bool slow = turn_++ % 2 == rank_;
      if (slow) spend(us_);
      phases_.add(0, slow ? 1e3 * us_ : 0);
    }
  }
  const Phases& phases() const override { return phases_; }

 private:
  const int rank_;
  const double us_;
  int turn_ = 0;
  Phases phases_{{"slow"}};
};

}  // namespace

TEST_CASE("of ranks that are slow in turns, every iteration takes as long as the slowest") {
  constexpr double kSlowUs = 30;
  const ClockQuality coarse{100'000, 20};  // of which a sample takes many iterations
  Threads threads;
  Measurement result;
  threads.run(2, [&](Group& group) {
    InTurns turns(group.rank(), kSlowUs);
    SamplingPolicy policy = short_policy();
    policy.sync = Sync::kBarrier;
    policy.reduce = Reduce::kMaximum;
    policy.keep_ranks = true;
    policy.limit_s = 600;  // never reached, whatever else runs here
    Measurement mine = Sampler(group, coarse).measure(policy, turns);
    if (group.leads()) result = std::move(mine);
  });
  CHECK(result.batch >= 2);
  REQUIRE(result.samples_us.size() >= 11);
  for (const double us : result.samples_us) CHECK(us >= kSlowUs);
  REQUIRE(result.phases_us.size() == 1);
  for (const double us : result.phases_us[0]) CHECK(us == doctest::Approx(kSlowUs));
  for (const double us : result.shortest_phases_us[0]) CHECK(us == 0);
  for (const double us : result.mean_phases_us[0]) CHECK(us == doctest::Approx(kSlowUs / 2));
  REQUIRE(result.ranks_us.size() == 2);
  CHECK(result.ranks_us[0].size() == result.samples_us.size());
}

TEST_CASE("the barrier before each iteration counts in the first round too") {
  constexpr double kBarrierUs = 100;
  SlowBarrier group(kBarrierUs);
  const auto most = [&](double slot_s, double limit_s) {
    SamplingPolicy policy = usual_policy({});
    policy.slot_s = slot_s;
    policy.limit_s = limit_s;
    policy.sync = Sync::kBarrier;
    Repeated brief([](std::uint64_t n) { spend(static_cast<double>(n)); });
    const auto result = Sampler(group, ClockQuality{20, 20}).measure(policy, brief);
    return static_cast<double>(result.iterations) * kBarrierUs / 1e6;
  };
  CHECK(most(0.01, 10) < 0.02);
  CHECK(most(1, 0.2) < 0.3);
}

TEST_CASE("times of single iterations are not kept for the whole of a slot") {
  const ClockQuality coarse{100'000, 20};
  Threads threads;
  threads.run(2, [&](Group& group) {
    InTurns turns(group.rank(), 0.05);
    SamplingPolicy policy = short_policy();
    policy.slot_s = 0.2;
    policy.least_samples = 25;
    policy.sync = Sync::kBarrier;
    policy.reduce = Reduce::kMaximum;
    Sampler(group, coarse).measure(policy, turns);
  });
  CHECK(threads.most_gathered() < std::size_t{2} << 20);
}

TEST_CASE("iterations that begin anew are timed alone, however short, each behind a barrier") {
  struct Short final : Sampled {
    void run(std::uint64_t n) override {
      iterations += n;
      spend(0.5);
    }
    std::uint64_t iterations = 0;
  };
  SamplingPolicy policy = short_policy();
  policy.sync = Sync::kBarrier;
  const ClockQuality coarse{1000, 20};  // a tick of one microsecond
  CHECK(is_so_once([&] {
    Short brief;
    SlowBarrier group(5);
    const auto result = Sampler(group, coarse).measure(policy, brief);
    CHECK(group.barriers() >= brief.iterations);
    return result.batch >= 2 && median(result.samples_us) < 5;
  }));
}

TEST_CASE("the tail has the times of all iterations, also of those in no sample") {
  std::uint64_t done = 0;
  SamplingPolicy policy = short_policy();
  policy.with_tail = true;
  policy.max_kept = 4;
  const auto result = measure(
      policy,
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) spend(++done % 50 == 0 ? 200 : 20);
      },
      ClockQuality{1, 20});
  REQUIRE(result.tail);
  CHECK(result.batch == 1);
  CHECK(result.tail->count() == result.iterations);
  CHECK(result.tail->quantile_us(0.999) >= 195);
  CHECK(result.tail->longest_us() >= 200);
  CHECK(result.samples_us.size() <= 8);
}

TEST_CASE("where a sample has several iterations, single ones are timed for the tail") {
  SamplingPolicy policy = short_policy();
  policy.with_tail = true;
  std::uint64_t runs = 0;
  const auto result = measure(
      policy,
      [&](std::uint64_t n) {
        runs += n;
        for (std::uint64_t i = 0; i < n; ++i) spend(2);
      },
      ClockQuality{1000, 20});
  REQUIRE(result.tail);
  CHECK(result.batch > 1);
  CHECK(result.tail->count() >= 1);
  CHECK(result.tail->quantile_us(0) >= 1.9);
  CHECK(runs == result.all_iterations);
}

TEST_CASE("what has phases, or begins each iteration anew, has no tail") {
  struct Phased final : Sampled {
    void run(std::uint64_t n) override {
      spend(static_cast<double>(20 * n));
      of_run.clear();
      of_run.add(0, 1e3);
    }
    const Phases& phases() const override { return of_run; }
    Phases of_run{{"all"}};
  } phased;
  SamplingPolicy policy = short_policy();
  policy.with_tail = true;
  Alone alone;
  CHECK_FALSE(Sampler(alone, ClockQuality{1, 20}).measure(policy, phased).tail);
  policy.sync = Sync::kBarrier;
  CHECK_FALSE(measure(policy, [](std::uint64_t) { spend(20); }).tail);
  CHECK_FALSE(measure(short_policy(), [](std::uint64_t) { spend(20); }).tail);
}

TEST_CASE("quantiles lie between order statistics") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(quantile({10, 20}, 0.25) == 12.5);
  CHECK(quantile({7}, 0.95) == 7);
}

TEST_CASE("all iterations are counted, also those of no sample") {
  for (const double us : {0.1, 50.0, 2000.0}) {
    CAPTURE(us);
    std::uint64_t ran = 0;
    const auto result = measure(short_policy(), [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) spend(us);
      ran += n;
    });
    CHECK(result.all_iterations == ran);
    CHECK(result.all_iterations >= result.iterations + result.warmup_iterations);
  }
}

TEST_CASE("all iterations of a case that is given up are counted") {
  SamplingPolicy policy = short_policy();
  policy.budget_us = 1;
  std::uint64_t ran = 0;
  const auto result = measure(policy, [&](std::uint64_t n) {
    spend(static_cast<double>(100 * n));
    ran += n;
  });
  CHECK(result.too_slow);
  CHECK(result.all_iterations == ran);
}

TEST_CASE("rounds are no longer than asked, with a call before each") {
  SamplingPolicy policy = short_policy();
  std::uint64_t calls = 0;
  policy.between = [&] { ++calls; };
  const auto spend_each = [](std::uint64_t n) { spend(static_cast<double>(100 * n)); };
  policy.longest_round_s = 1e-6;  // of one sample, which is longer
  // By a clock of which every sample is long enough: none is given up.
  const auto result = measure(policy, spend_each, ClockQuality{1, 20});
  CHECK(calls == result.iterations / result.batch);
}
