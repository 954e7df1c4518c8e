// SPDX-License-Identifier: Apache-2.0
#include "collective/case.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "tests/benchmark/context.hpp"

using namespace nearpeak;

namespace {

// Host memory that knows the most that was copied at once.
class Counting final : public ForwardingMemory {
 public:
  Counting() : ForwardingMemory(host_memory()) {}
  void* allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void release(void* memory) override { memory_.release(memory); }
  void to_host(void* host, const void* from, std::size_t bytes) override {
    most = std::max(most, bytes);
    memory_.to_host(host, from, bytes);
  }
  void from_host(void* to, const void* host, std::size_t bytes) override {
    most = std::max(most, bytes);
    memory_.from_host(to, host, bytes);
  }
  std::size_t most = 0;
};

// One rank, which receives what it has sent.
class Copied final : public CollectiveCase {
 public:
  Copied(const CaseContext& context, std::unique_ptr<Contents> contents)
      : CollectiveCase(context, {.out_bytes = context.bytes, .in_bytes = context.bytes},
                       std::move(contents)),
        bytes_(context.bytes) {}
  void run(std::uint64_t n) override {
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::size_t slot = next_slot();
      std::memcpy(in(slot), out(slot), bytes_);
    }
  }
  unsigned char& received(std::size_t byte) const {
    return static_cast<unsigned char*>(in(0))[byte];
  }

 private:
  const std::size_t bytes_;
};

struct Rank {
  explicit Rank(std::size_t bytes) : context(context_of(alone, bytes, memory)) {}
  Alone alone;
  Counting memory;
  CaseContext context;
};

constexpr std::size_t kLarge = 3 * kPieceBytes + 4;  // with a gap behind it

void check_every_byte_counts(const Rank& rank, Copied& made) {
  for (const std::uint64_t round : {0, 1}) {
    made.begin_round(round, Part::kAll);
    made.run(1);
    REQUIRE_FALSE(made.wrong(round, Part::kAll));
    for (const std::size_t byte : {std::size_t{0}, std::size_t{5}, kPieceBytes - 1, kPieceBytes,
                                   2 * kPieceBytes + 7, kLarge - 1, kLarge, kLarge + 1}) {
      CAPTURE(byte);
      made.received(byte) ^= 1;
      const auto bad = made.wrong(round, Part::kAll);
      made.received(byte) ^= 1;
      REQUIRE(bad);
      CHECK(bad->byte == byte);
      CHECK(bad->whole == kLarge);
    }
  }
  CHECK(rank.memory.most <= kPieceBytes);
}

}  // namespace

TEST_CASE("large blocks are looked at piece by piece") {
  const Rank rank(kLarge);
  const Block whole{.rank = 0, .whole = kLarge, .from = 0, .bytes = kLarge};
  Copied made(rank.context, blocks(rank.context, kLarge, {whole}));
  CHECK(made.round_bytes() == 2 * kLarge);
  check_every_byte_counts(rank, made);
}

TEST_CASE("large sums are written and looked at piece by piece") {
  const Rank rank(kLarge);
  constexpr std::size_t kCount = kLarge / sizeof(float);
  Copied made(rank.context, sums(rank.context, number_type("float"),
                                 {.count = kCount, .first = 0, .received = kCount, .ranks = 1}));
  check_every_byte_counts(rank, made);
}

TEST_CASE("what may be received in two ways is one of them from its first piece to its last") {
  const Rank rank(kLarge);
  const Block whole{.rank = 0, .whole = kLarge, .from = 0, .bytes = kLarge};
  // The first half of one and the second half of the other.
  const Block first{.rank = 0, .whole = kLarge, .from = 0, .bytes = 2 * kPieceBytes};
  const Block other{.rank = 1, .whole = kLarge, .from = 0, .bytes = kLarge - 2 * kPieceBytes};
  const Block second{
      .rank = 0, .whole = kLarge, .from = 2 * kPieceBytes, .bytes = kLarge - 2 * kPieceBytes};
  const Block wrong{.rank = 1, .whole = kLarge, .from = 0, .bytes = 2 * kPieceBytes};
  const auto is_right = [&](std::vector<Block> received, std::vector<Block> or_else) {
    Copied made(rank.context,
                blocks(rank.context, kLarge, std::move(received), std::move(or_else)));
    made.begin_round(1, Part::kAll);
    made.run(1);
    return !made.wrong(1, Part::kAll);
  };
  CHECK(is_right({whole}, {first, other}));
  CHECK(is_right({first, other}, {whole}));
  CHECK_FALSE(is_right({first, other}, {wrong, second}));
}

namespace {

// One of many ranks, which see what it sees.
class OneOfMany final : public Group {
 public:
  OneOfMany(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void barrier() override {}
  void broadcast(void*, std::size_t) override {}
  void gather(const void* mine, std::size_t bytes, void* all) override {
    for (int rank = 0; rank < size_ && bytes > 0; ++rank)
      std::memcpy(static_cast<char*>(all) + static_cast<std::size_t>(rank) * bytes, mine, bytes);
  }
  using Group::broadcast;
  using Group::gather;

 private:
  const int rank_;
  const int size_;
};

// Ranks that wait for nobody.
class Unordered final : public CollectiveCase {
 public:
  explicit Unordered(const CaseContext& context)
      : CollectiveCase(context, {}, blocks(context, 0, {})) {}
  void run(std::uint64_t) override {
    arrive();
    leave();
  }
};

// In how many rounds it comes late.
int late_rounds(int rank, int size) {
  constexpr std::int64_t kLateNs = 200'000;
  OneOfMany group(rank, size);
  Unordered made(context_of(group, 0));
  int late = 0;
  for (std::uint64_t round = 1; round <= std::max(kRounds, made.fewest_rounds()); ++round) {
    made.begin_round(round, Part::kAll);
    const std::int64_t begin = now_ns();
    made.run(1);
    if (now_ns() - begin >= kLateNs) ++late;
  }
  return late;
}

}  // namespace

TEST_CASE("of an operation that moves no data every rank comes late in one of the rounds") {
  for (const int size : {2, 3, 8, 9, 20, 64, 200})
    for (const int rank : {0, 1, size / 2, size - 1}) {
      CAPTURE(size);
      CAPTURE(rank);
      CHECK(late_rounds(rank, size) >= 1);
    }
  OneOfMany group(0, 100'000);
  CHECK(Unordered(context_of(group, 0)).fewest_rounds() <= 100);
}

namespace {

// Two ranks of one host name, of which the other has been there as this one has, so much later.
class Two final : public Group {
 public:
  Two(std::int64_t later_ns, bool same_clock) : later_ns_(later_ns), same_clock_(same_clock) {}
  int rank() const override { return kLeaderRank; }
  int size() const override { return 2; }
  void barrier() override {}
  void broadcast(void*, std::size_t) override {}
  void gather(const void* mine, std::size_t bytes, void* all) override {
    for (int rank = 0; rank < 2; ++rank)
      std::memcpy(static_cast<char*>(all) + static_cast<std::size_t>(rank) * bytes, mine, bytes);
    if (!has_run) return;
    auto& other = static_cast<Stay*>(all)[1];
    if (!same_clock_) ++other.clock;
    other.came_ns += later_ns_;
    other.left_ns += later_ns_;
  }
  using Group::broadcast;
  using Group::gather;
  bool has_run = false;  // what ranks say next is when they were there

 private:
  const std::int64_t later_ns_;
  const bool same_clock_;
};

std::optional<Mismatch> wrong_of(Two group) {
  Unordered made(context_of(group, 0));
  made.begin_round(1, Part::kAll);
  made.run(1);
  group.has_run = true;
  return made.wrong(1, Part::kAll);
}

}  // namespace

TEST_CASE("a rank that left before another came is named, if both read one clock") {
  constexpr std::int64_t kHourNs = 3'600'000'000'000;
  const auto early = wrong_of({kHourNs, true});
  REQUIRE(early);
  CHECK(early->left_early);
  CHECK_FALSE(wrong_of({kHourNs, false}));
  CHECK_FALSE(wrong_of({0, true}));
}

TEST_CASE("nothing does not rotate") {
  OneOfMany group(0, 2);
  CaseContext context = context_of(group, 0);
  context.axes[kReuse] = "rotating";
  context.cache_bytes = 1 << 20;
  CHECK(Unordered(context).cycle() == 1);
}
