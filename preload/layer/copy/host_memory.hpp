// SPDX-License-Identifier: Apache-2.0
// Host memory for messages. Long pieces are kept at their end and used again, as fresh pages cost
// more than the copy into them (benchmarks/recorded/layer-host-memory-h200.txt). Several threads
// may use it at once.
#pragma once

#include <cstddef>
#include <memory>

namespace nearpeak::layer {

// Who gives memory out that is a part of its own.
class Lender {
 public:
  virtual void give_back(const char* memory) = 0;

 protected:
  ~Lender() = default;
};

// Gives memory back; `bytes` is its length.
struct GiveBack {
  std::size_t bytes = 0;
  Lender* lender = nullptr;  // none: it is memory by itself
  void operator()(char* memory) const;
};
using HostMemory = std::unique_ptr<char, GiveBack>;

constexpr std::size_t kLeastKept = 4096;  // bytes; malloc keeps shorter ones
constexpr std::size_t kLeastLong = std::size_t{512} << 10;
// The limits of all long pieces, and of all short ones.
constexpr std::size_t kMostKept = std::size_t{1} << 30;  // bytes
constexpr std::size_t kPiecesKept = 256;

// Takes at least this many bytes, which are not written. Throws std::bad_alloc.
HostMemory host_memory_of(std::size_t bytes);

// Pieces that are kept and that nobody has.
std::size_t pieces_kept();

}  // namespace nearpeak::layer
