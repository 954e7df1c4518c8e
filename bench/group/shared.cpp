// SPDX-License-Identifier: Apache-2.0
#include "group/shared.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace nearpeak {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLargePage = std::size_t{2} << 20;

// Calls with every piece of so many bytes: where it begins, and how long it is.
template <class Use>
void in_pieces(std::size_t bytes, Use use) {
  for (std::size_t at = 0; at < bytes; at += SharedGroup::Member::kPiece)
    use(at, std::min(SharedGroup::Member::kPiece, bytes - at));
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(std::max<std::size_t>(bytes, 1)),
      data_(static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  if (data_ == MAP_FAILED) throw std::bad_alloc();
  if (bytes_ >= kLargePage) madvise(data_, bytes_, MADV_HUGEPAGE);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void SharedMemory::touch() {
  for (std::size_t i = 0; i < bytes_; i += kPage) data_[i] = 0;
}

void* SharedMemory::allocate(std::size_t bytes) {
  if (bytes > bytes_) throw std::bad_alloc();
  return data_;
}

// Nobody leaves before all have come. The leader says its part when all others have said theirs.
// What was said in a call stays until the next but one, to which nobody comes who has not left it.
template <class Say>
void SharedGroup::meet(Say say) {
  ++round_;
  // Busily at first, as a barrier may be part of what is timed; where others want the CPUs too, the
  // one that is waited for may need this one.
  constexpr int kBusy = 20'000;
  const auto await = [this](int rank) {
    for (int looks = 0; members_[rank].met.told() < round_; ++looks)
      wait_once(looks < kBusy ? wait_ : Wait::kYield);
  };
  if (leads())
    for (int rank = 1; rank < size_; ++rank) await(rank);
  say();
  members_[rank_].met.tell(round_);
  await(kLeaderRank);
}

void SharedGroup::barrier() {
  meet([] {});
}

void SharedGroup::broadcast(void* data, std::size_t bytes) {
  in_pieces(bytes, [&](std::size_t at, std::size_t count) {
    char* const here = static_cast<char*>(data) + at;
    meet([&] {
      if (leads()) std::memcpy(piece(kLeaderRank), here, count);
    });
    if (!leads()) std::memcpy(here, piece(kLeaderRank), count);
  });
}

void SharedGroup::gather(const void* mine, std::size_t bytes, void* all) {
  in_pieces(bytes, [&](std::size_t at, std::size_t count) {
    meet([&] { std::memcpy(piece(rank_), static_cast<const char*>(mine) + at, count); });
    for (int rank = 0; rank < size_; ++rank)
      std::memcpy(static_cast<char*>(all) + static_cast<std::size_t>(rank) * bytes + at,
                  piece(rank), count);
  });
}

}  // namespace nearpeak
