// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/pieces.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "group/shared.hpp"
#include "tests/accel/fake.hpp"

namespace nearpeak::layer {
namespace {

constexpr std::size_t kMessage = 9 * kPieceBytes + 4097;

char byte_at(std::size_t i, int seed) { return static_cast<char>(i * 31 + (i >> 9) + seed); }

}  // namespace

TEST_CASE("pieces: a message of many comes whole, up and down, of pinned memory and other") {
  CopyHelpers two(2);
  CopyHelpers* helpers = nullptr;
  SUBCASE("by one thread") {}
  SUBCASE("with helpers") { helpers = &two; }
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  SlotBuffer there(device.memory(BufferKind::kDevice), kMessage, 1);
  std::vector<char> sent(kMessage), got(kMessage, 0);
  for (std::size_t i = 0; i < kMessage; ++i) sent[i] = byte_at(i, 3);
  {
    Pieces pieces(device, helpers);
    Mover up(pieces,
             {.direction = Direction::kToDevice, .device = there.slot(0), .host = &sent[0]});
    up.move(0, 5 * kPieceBytes);
    up.move(5 * kPieceBytes, kMessage - 5 * kPieceBytes);
    up.finish();

    // A part of the host's is pinned: the rest goes in pieces beside.
    constexpr std::size_t kPage = 4096;
    char* const first = &got[kPage] - reinterpret_cast<std::uintptr_t>(&got[0]) % kPage;
    const Range pinned{first, first + 6 * kPieceBytes};
    const auto kept = device.registration()->register_memory(first, pinned.bytes());
    Mover down(pieces, {.direction = Direction::kFromDevice,
                        .device = there.slot(0),
                        .host = &got[0],
                        .pinned = pinned});
    down.move(0, 7);
    down.move(7, kMessage - 7);
    down.finish();
    CHECK(got == sent);
  }
}

TEST_CASE("pieces: each is told of when it has come to the host, in order") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  SlotBuffer there(device.memory(BufferKind::kDevice), kMessage, 1);
  std::vector<char> got(kMessage, 0);
  Pieces pieces(device);
  std::size_t told = 0;
  Mover down(pieces,
             {.direction = Direction::kFromDevice, .device = there.slot(0), .host = &got[0]},
             [&](std::size_t offset, std::size_t bytes) {
               CHECK(offset == told);
               told += bytes;
             });
  down.move(0, kMessage);
  CHECK(told > 0);  // the places are used again
  down.finish();
  CHECK(told == kMessage);
}

TEST_CASE("pieces: memory of another process is read and written") {
  const SharedMemory told(sizeof(bool));
  auto& over = *reinterpret_cast<bool*>(told.data());
  std::vector<char> theirs(kMessage), mine(kMessage);
  for (std::size_t i = 0; i < kMessage; ++i) theirs[i] = byte_at(i, 8);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {  // its memory is a copy
    std::vector<char>& own = theirs;
    while (!std::atomic_ref(over).load()) usleep(100);
    bool good = getppid() == parent;
    for (std::size_t i = 0; i < kMessage; ++i) good = good && own[i] == byte_at(i, 9);
    _exit(good ? 0 : 1);
  }
  {
    const FakeCuda fake;
    const auto cuda = FakeCuda::load();
    Device& device = cuda->device(0);
    SlotBuffer there(device.memory(BufferKind::kDevice), kMessage, 1);
    Pieces pieces(device);
    const auto other = process_of(child);
    Mover up(pieces, {.direction = Direction::kToDevice,
                      .device = there.slot(0),
                      .host = &theirs[0],
                      .process = other.get()});
    up.move(0, kMessage);
    up.finish();
    device.copy(&mine[0], there.slot(0), kMessage);
    CHECK(mine == theirs);
    for (std::size_t i = 0; i < kMessage; ++i) mine[i] = byte_at(i, 9);
    device.copy(there.slot(0), &mine[0], kMessage);
    Mover down(pieces, {.direction = Direction::kFromDevice,
                        .device = there.slot(0),
                        .host = &theirs[0],
                        .process = other.get()});
    down.move(0, kMessage);
    down.finish();
  }
  std::atomic_ref(over).store(true);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace nearpeak::layer
