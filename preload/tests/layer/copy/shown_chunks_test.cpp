// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/shown_chunks.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/layer/copy/chunks_on_fake.hpp"

namespace nearpeak::layer {
namespace {

bool is_open(int file) { return fcntl(file, F_GETFD) >= 0; }

}  // namespace

TEST_CASE("shown chunks: all that bytes are in, each leading to the next") {
  ChunksOnFake owner;
  const SlotBuffer buffer(owner.in_chunks, 3 * kFakeChunk, 1);
  const char* const begin = buffer.slot(0) + 100;
  ShownChunks::Kept kept;
  const auto exported = owner.show(begin, 3 * kFakeChunk - 200, kept);
  REQUIRE(exported.has_value());
  CHECK(exported->base <= address(begin));
  CHECK(exported->base + exported->bytes >= address(begin) + 3 * kFakeChunk - 200);
  CHECK(exported->chunks == exported->bytes / kFakeChunk);
  CHECK(exported->chunks >= 3);
  std::uint64_t at = exported->base;
  std::uint32_t place = exported->first_chunk;
  std::vector<int> files;
  for (std::uint32_t i = 0; i < exported->chunks; ++i) {
    const GivenChunk& given = owner.table->chunks.at(place);
    CHECK(given.base == at);
    CHECK(given.allocation == owner.devices.find(reinterpret_cast<const void*>(at)).allocation);
    CHECK(is_open(given.file));
    files.push_back(given.file);
    at += given.bytes;
    place = given.after;
  }
  // The same is not made anew.
  ShownChunks::Kept again;
  const auto same = owner.show(begin, 1, again);
  REQUIRE(same.has_value());
  CHECK(same->first_chunk == exported->first_chunk);
  CHECK(same->chunks == 1);
  CHECK(owner.first(*same).file == files.front());
}

TEST_CASE("shown chunks: a process that is forked has no file of them") {
  ChunksOnFake owner;
  const SlotBuffer buffer(owner.in_chunks, 1000, 1);
  ShownChunks::Kept kept;
  const auto exported = owner.show(buffer.slot(0), 1, kept);
  REQUIRE(exported.has_value());
  const int file = owner.first(*exported).file;
  const pid_t child = fork();
  if (child == 0) _exit(is_open(file) ? 1 : 0);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(is_open(file));
}

TEST_CASE("shown chunks: nothing where the memory is for no other process, or no table is there") {
  ChunksOnFake owner;
  ShownChunks::Kept kept;
  const SlotBuffer plain(owner.cuda->device(0).memory(BufferKind::kDevice), 1000, 1);
  CHECK_FALSE(owner.show(plain.slot(0), 1000, kept).has_value());
  const SlotBuffer buffer(owner.in_chunks, 1000, 1);
  ShownChunks without(owner.devices.chunk_questions());
  const auto none = without.show(owner.devices.locate(buffer.slot(0)), buffer.slot(0), 1000, kept,
                                 [](std::uint64_t) {});
  CHECK_FALSE(none.has_value());
  // It ends behind the last chunk.
  CHECK_FALSE(owner.show(buffer.slot(0), 100 * kFakeChunk, kept).has_value());
}

TEST_CASE("shown chunks: what was freed has no file, and its place when nobody reads it any more") {
  ChunksOnFake owner;
  ShownChunks::Kept kept;
  std::uint32_t place = 0;
  std::uint64_t allocation = 0;
  int file = -1;
  {
    const SlotBuffer buffer(owner.in_chunks, 1000, 1);
    const auto exported = owner.show(buffer.slot(0), 1, kept);
    REQUIRE(exported.has_value());
    place = exported->first_chunk;
    allocation = owner.first(*exported).allocation;
    file = owner.first(*exported).file;
    owner.look();
    CHECK(owner.gone.empty());
  }
  owner.look();
  CHECK(owner.gone == std::vector{allocation});
  CHECK_FALSE(is_open(file));
  const SlotBuffer other(owner.in_chunks, 1000, 1);
  ShownChunks::Kept of_other;
  const auto exported = owner.show(other.slot(0), 1, of_other);
  REQUIRE(exported.has_value());
  CHECK(exported->first_chunk != place);
  of_other.reset();
  owner.shown.clear();
  kept.reset();
  const auto again = owner.show(other.slot(0), 1, of_other);
  REQUIRE(again.has_value());
  CHECK(again->first_chunk == place);  // the last that was given back
}

TEST_CASE("shown chunks: new ones are looked behind for freed ones") {
  ChunksOnFake owner;
  ShownChunks::Kept kept;
  for (int i = 0; i < 5; ++i) {
    const SlotBuffer buffer(owner.in_chunks, 1000, 1);
    REQUIRE(owner.show(buffer.slot(0), 1, kept).has_value());
    CHECK(owner.gone.size() == static_cast<std::size_t>(i));
    CHECK(owner.shown.size() == 1);
  }
}

TEST_CASE("shown chunks: so many files are open, those that were not shown for longest give way") {
  ChunksOnFake owner(2);
  const SlotBuffer one(owner.in_chunks, 1000, 1), two(owner.in_chunks, 1000, 1),
      three(owner.in_chunks, 1000, 1);
  ShownChunks::Kept of_one, of_two, of_three;
  const auto first = owner.show(one.slot(0), 1, of_one);
  REQUIRE(first.has_value());
  const std::uint64_t allocation = owner.first(*first).allocation;
  REQUIRE(owner.show(two.slot(0), 1, of_two).has_value());
  CHECK_FALSE(owner.show(three.slot(0), 1, of_three).has_value());  // both are read
  of_one.reset();
  of_two.reset();
  REQUIRE(owner.show(three.slot(0), 1, of_three).has_value());
  CHECK(owner.gone == std::vector{allocation});
  CHECK(owner.shown.size() == 2);
}

}  // namespace nearpeak::layer
