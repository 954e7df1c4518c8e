// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/landing_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <exception>
#include <system_error>

#include "accel/abandoned.hpp"

namespace nearpeak::layer {

// Forked processes do not get it: with copies of pages that are pinned, one of both would write
// where the device does not read.
LandingMemory::LandingMemory() {
  void* const mapped =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  madvise(mapped, kBytes, MADV_HUGEPAGE);  // advice: fewer pages to pin
  madvise(mapped, kBytes, MADV_DONTFORK);
  memory_ = static_cast<char*>(mapped);
}

LandingMemory::~LandingMemory() {
  unpin();
  munmap(memory_, kBytes);
}

LandingMemory::Slab* LandingMemory::slab_of(std::size_t size_class) {
  std::vector<Slab*>& open = open_[size_class];
  const std::size_t bytes = kLeastOfPiece << size_class;
  for (; !open.empty(); open.pop_back())
    if (open.back()->bytes_of_piece == bytes && !open.back()->free.empty()) return open.back();
  const auto unused =
      std::find_if(slabs_.begin(), slabs_.end(), [](const Slab& slab) { return slab.taken == 0; });
  if (unused == slabs_.end()) return nullptr;
  unused->bytes_of_piece = bytes;
  unused->free.clear();
  for (std::size_t i = kSlabBytes / bytes; i > 0; --i)
    unused->free.push_back(static_cast<std::uint16_t>(i - 1));
  return open.emplace_back(&*unused);
}

HostMemory LandingMemory::take(std::size_t bytes) {
  if (bytes > kMostOfPiece) return nullptr;
  const std::size_t rounded = std::bit_ceil(std::max(bytes, kLeastOfPiece));
  const auto size_class = static_cast<std::size_t>(std::countr_zero(rounded / kLeastOfPiece));
  const MemoryLock lock(mutex_);
  Slab* const slab = slab_of(size_class);
  if (slab == nullptr) return nullptr;
  const auto piece = static_cast<std::size_t>(slab->free.back());
  slab->free.pop_back();
  ++slab->taken;
  const auto number = static_cast<std::size_t>(slab - slabs_.data());
  return {memory_ + number * kSlabBytes + piece * rounded, {rounded, this}};
}

void LandingMemory::give_back(const char* piece) {
  const auto offset = static_cast<std::size_t>(piece - memory_);
  const MemoryLock lock(mutex_);
  Slab& slab = slabs_.at(offset / kSlabBytes);
  if (slab.free.empty()) {
    const std::size_t bytes = slab.bytes_of_piece / kLeastOfPiece;
    open_[static_cast<std::size_t>(std::countr_zero(bytes))].push_back(&slab);
  }
  slab.free.push_back(static_cast<std::uint16_t>(offset % kSlabBytes / slab.bytes_of_piece));
  --slab.taken;
}

bool LandingMemory::pin(Device& device) {
  if (pinned_ || cannot_pin_) return !cannot_pin_;
  try {
    pinned_ = registration_of(device).register_memory(memory_, kBytes);
    cannot_pin_ = pinned_->on_device() != memory_;
  } catch (const std::exception&) {  // no more may be pinned, or the driver is too old
    cannot_pin_ = true;
  }
  return !cannot_pin_;
}

void LandingMemory::abandon() { nearpeak::abandon(pinned_); }

}  // namespace nearpeak::layer
