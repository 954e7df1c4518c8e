// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace nearpeak::layer {
namespace {

struct KeptPiece {
  char* memory;
  std::size_t bytes;
};

struct Kept {
  std::mutex mutex;
  std::vector<KeptPiece> pieces;  // the last one that was given back at the end
  std::size_t bytes = 0;
};

// In large pages, which are fewer to be taken of the system and for it to walk where another
// process reads them.
HostMemory fresh(std::size_t bytes) {
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  if (bytes < kLargePage / 2) {
    HostMemory memory(static_cast<char*>(std::malloc(std::max<std::size_t>(bytes, 1))), {bytes});
    if (!memory) throw std::bad_alloc();
    return memory;
  }
  const std::size_t whole = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  HostMemory memory(static_cast<char*>(std::aligned_alloc(kLargePage, whole)), {whole});
  if (!memory) throw std::bad_alloc();
  madvise(memory.get(), whole, MADV_HUGEPAGE);  // advice, where the kernel has them
  return memory;
}

// Never destroyed: requests may end after the program's last static object.
using All = std::array<Kept, 2>;
All& all_kept() {
  static All& all = *new All;
  return all;
}
// Short ones, which are many, do not take the place of long ones.
Kept& kept(std::size_t bytes) { return all_kept()[bytes < kLeastLong ? 0 : 1]; }

}  // namespace

HostMemory host_memory_of(std::size_t bytes) {
  if (bytes >= kLeastKept) {
    Kept& all = kept(bytes);
    const MemoryLock lock(all.mutex);
    // Not a much longer one, which a longer message may want.
    const auto fits = std::find_if(
        all.pieces.rbegin(), all.pieces.rend(),
        [&](const KeptPiece& piece) { return piece.bytes >= bytes && piece.bytes / 2 <= bytes; });
    if (fits != all.pieces.rend()) {
      HostMemory memory(fits->memory, {fits->bytes});
      all.bytes -= fits->bytes;
      all.pieces.erase(std::next(fits).base());
      return memory;
    }
  }
  return fresh(bytes);
}

void GiveBack::operator()(char* memory) const {
  if (lender != nullptr) return lender->give_back(memory);
  if (bytes < kLeastKept || bytes > kMostKept) return std::free(memory);
  Kept& all = kept(bytes);
  const MemoryLock lock(all.mutex);
  all.bytes += bytes;
  all.pieces.push_back({memory, bytes});
  while (all.bytes > kMostKept || all.pieces.size() > kPiecesKept) {
    all.bytes -= all.pieces.front().bytes;
    std::free(all.pieces.front().memory);
    all.pieces.erase(all.pieces.begin());
  }
}

std::size_t pieces_kept() {
  std::size_t pieces = 0;
  for (Kept& all : all_kept()) {
    const MemoryLock lock(all.mutex);
    pieces += all.pieces.size();
  }
  return pieces;
}

}  // namespace nearpeak::layer
