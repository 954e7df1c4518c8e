// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/opened_chunks.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "tests/layer/copy/chunks_on_fake.hpp"

namespace nearpeak::layer {
namespace {

constexpr OpenedChunks::Limit kNoLimit{.most = std::uint64_t{1} << 40, .recent = 0};
constexpr std::uint32_t kOwner = 3;

// A process that is the other rank, too.
struct BothRanks : ChunksOnFake {
  ~BothRanks() { opened.clear(); }

  Exported show(const void* memory, std::size_t bytes) {
    const auto exported = ChunksOnFake::show(memory, bytes, kept.emplace_back());
    REQUIRE(exported.has_value());
    return *exported;
  }
  char* find(const Exported& exported) { return opened.find(1, kOwner, *table, exported, ++uses); }
  char* open(const Exported& exported, const OpenedChunks::Limit& limit = kNoLimit) {
    const ChunkOwner owner{table.get(), self.get()};
    return opened.open(cuda->device(1), kOwner, owner, exported, ++uses, limit);
  }
  static int count() { return count_of(FAKE_CUDA, "fake_cuda_opened"); }

  const std::unique_ptr<Process> self = process_of(getpid());
  std::vector<ShownChunks::Kept> kept;
  int awaited = 0;
  OpenedChunks opened{[this] { ++awaited; }};
  std::uint64_t uses = 0;
};

}  // namespace

TEST_CASE("opened chunks: bytes of several chunks are one piece, and opened once") {
  BothRanks both;
  const SlotBuffer buffer(both.in_chunks, 2 * kFakeChunk, 1);
  char* const begin = buffer.slot(0);
  both.cuda->device(0).copy(begin + kFakeChunk, "data", 5);
  const Exported exported = both.show(begin, 2 * kFakeChunk);
  CHECK(both.find(exported) == nullptr);
  char* const there = both.open(exported);
  CHECK(BothRanks::count() == static_cast<int>(exported.chunks));
  char text[5] = "";
  both.cuda->device(1).copy(text, there + (address(begin) + kFakeChunk - exported.base), 5);
  CHECK(std::strcmp(text, "data") == 0);
  CHECK(both.find(exported) == there);
  CHECK(both.open(exported) == there);
  CHECK(BothRanks::count() == static_cast<int>(exported.chunks));
  // A part of it lies in it.
  const Exported part = both.show(begin + kFakeChunk, 10);
  CHECK(both.find(part) == there + (part.base - exported.base));
  CHECK(both.awaited == 0);
  both.opened.close(kOwner, part);
  CHECK(both.awaited == 1);
  CHECK(BothRanks::count() == static_cast<int>(exported.chunks - part.chunks));
  CHECK(both.find(exported) == nullptr);
  both.opened.close_not_used(kOwner + 1, both.uses);
  both.opened.close_not_used(kOwner, 0);
  CHECK(BothRanks::count() == static_cast<int>(exported.chunks - part.chunks));
  both.opened.close_not_used(kOwner, both.uses);
  CHECK(BothRanks::count() == 0);
}

TEST_CASE("opened chunks: what lies there now takes the place of what did before") {
  BothRanks both;
  const SlotBuffer buffer(both.in_chunks, 1000, 1);
  const Exported exported = both.show(buffer.slot(0), 1);
  char* const there = both.open(exported);
  GivenChunk& given = both.first(exported);
  const std::uint64_t before = std::exchange(given.allocation, given.allocation + 1000);
  CHECK(both.find(exported) == nullptr);
  CHECK(both.open(exported) == there);
  CHECK(BothRanks::count() == 1);
  both.opened.close(kOwner, before);  // which is closed already
  CHECK(BothRanks::count() == 1);
  both.opened.close(kOwner, given.allocation);
  CHECK(BothRanks::count() == 0);
}

TEST_CASE("opened chunks: many that were not used for long are closed for another one") {
  BothRanks both;
  const SlotBuffer one(both.in_chunks, 1000, 1), two(both.in_chunks, 1000, 1),
      three(both.in_chunks, 1000, 1);
  const Exported first = both.show(one.slot(0), 1), second = both.show(two.slot(0), 1),
                 third = both.show(three.slot(0), 1);
  both.open(first);
  both.open(second);
  both.find(first);  // the third use: the second one was that of `second`
  both.open(third, {.most = 2 * kFakeChunk, .recent = 3});
  CHECK(both.find(first) != nullptr);
  CHECK(both.find(second) == nullptr);
  CHECK(both.find(third) != nullptr);
}

TEST_CASE("opened chunks: what another rank says is looked at before it is used") {
  BothRanks both;
  const SlotBuffer buffer(both.in_chunks, 1000, 1);
  const Exported right = both.show(buffer.slot(0), 1);
  Exported wrong = right;
  wrong.first_chunk = ChunkTable::kMost;
  CHECK_THROWS_AS(both.open(wrong), std::out_of_range);
  wrong = right;
  wrong.base += kFakeChunk;
  CHECK_THROWS_AS(both.open(wrong), std::out_of_range);
  wrong = right;
  wrong.bytes += 1;
  CHECK_THROWS_AS(both.open(wrong), std::out_of_range);
  wrong = right;
  wrong.chunks = 2;
  CHECK_THROWS_AS(both.open(wrong), std::out_of_range);
  wrong = right;
  wrong.bytes = ~std::uint64_t{0};
  CHECK_THROWS_AS(both.open(wrong), std::out_of_range);
  const ChunkOwner nobody{nullptr, both.self.get()};
  CHECK_THROWS_AS(both.opened.open(both.cuda->device(1), kOwner, nobody, right, 1, kNoLimit),
                  std::out_of_range);
}

TEST_CASE("opened chunks: a file that cannot be taken") {
  BothRanks both;
  const SlotBuffer buffer(both.in_chunks, 1000, 1);
  const Exported exported = both.show(buffer.slot(0), 1);
  GivenChunk& given = both.first(exported);
  const int file = std::exchange(given.file, 1 << 20);
  CHECK_THROWS_AS(both.open(exported), std::system_error);
  given.file = file;
  CHECK(both.open(exported) != nullptr);
}

}  // namespace nearpeak::layer
