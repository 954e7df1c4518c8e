// SPDX-License-Identifier: Apache-2.0
// Copies many pieces within the memory that kernels of a device reach, by one kernel: on an H200 64
// pieces of 64 KiB take it 10 us, and the copy engine 290 us, one by one or as one batch of the
// driver's (benchmarks/recorded/batched-copies-h200.txt).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "accel/accelerator.hpp"

namespace nearpeak {

struct CopyBatch {
  static constexpr std::size_t kMost = 32;
  struct Piece {
    void* to;
    const void* from;
    std::uint64_t bytes;
  };

  bool full() const { return count == kMost; }
  void add(const Piece& piece) { pieces[count++] = piece; }

  std::array<Piece, kMost> pieces{};  // as the kernel has them
  std::size_t count = 0;
};

class BatchCopier {
 public:
  // Throws as Kernels::persistent_copy() does, by which it is compiled.
  explicit BatchCopier(Device& device);

  // Begins a batch of at least one piece, in the order of those before it.
  void begin(const CopyBatch& batch);
  // Whether all that was begun is there, and waits for it.
  bool ended() { return stream_->finished(); }
  void wait() { stream_->synchronize(); }

 private:
  std::unique_ptr<Program> program_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace nearpeak
