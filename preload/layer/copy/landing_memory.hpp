// SPDX-License-Identifier: Apache-2.0
// Host memory in which messages between a host and a device land, pinned as a whole: the device
// copies many of them at once from there, or to there, at the rate of its link. It is the layer's
// own mapping, so that no copy of the application's begins in it. Several threads may give pieces
// back at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "accel/accelerator.hpp"
#include "layer/copy/host_memory.hpp"

namespace nearpeak::layer {

class LandingMemory final : public Lender {
 public:
  static constexpr std::size_t kBytes = std::size_t{32} << 20;
  static constexpr std::size_t kMostOfPiece = std::size_t{256} << 10;

  // Throws std::system_error.
  LandingMemory();
  ~LandingMemory();
  LandingMemory(const LandingMemory&) = delete;
  LandingMemory& operator=(const LandingMemory&) = delete;

  // A piece of at least `bytes` bytes; empty if none is free.
  HostMemory take(std::size_t bytes);
  void give_back(const char* piece) override;

  // Whether devices reach it; pinned once more after unpin() or abandon().
  bool pin(Device& device);
  void unpin() { pinned_.reset(); }
  // The device was reset.
  void abandon();

 private:
  static constexpr std::size_t kSlabBytes = kMostOfPiece;
  static constexpr std::size_t kSlabs = kBytes / kSlabBytes;
  static constexpr std::size_t kLeastOfPiece = 64;
  static constexpr std::size_t kClasses = 13;  // by powers of two, from the least piece to the most
  static_assert(kLeastOfPiece << (kClasses - 1) == kMostOfPiece);

  // Pieces of one length.
  struct Slab {
    std::size_t bytes_of_piece = 0;
    std::size_t taken = 0;
    std::vector<std::uint16_t> free;
  };

  // One of this class with a free piece; null where there is none.
  Slab* slab_of(std::size_t size_class);

  char* memory_;
  std::unique_ptr<RegisteredMemory> pinned_;
  bool cannot_pin_ = false;
  std::mutex mutex_;
  std::array<Slab, kSlabs> slabs_;
  std::array<std::vector<Slab*>, kClasses> open_;  // by class: those that had a free piece
};

}  // namespace nearpeak::layer
