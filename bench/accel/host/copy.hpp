// SPDX-License-Identifier: Apache-2.0
// Ways to copy memory with one CPU. Which one wins depends on the size, on where the data is cached
// and on the processor.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nearpeak {

// Copies `bytes` bytes; every store is ordered before the caller's next release store.
using CopyFunction = void (*)(char* to, const char* from, std::size_t bytes);

struct CopyKind {
  std::string name;
  CopyFunction copy;
  std::size_t smallest;  // bytes: it never wins below
};

// memcpy of the C library: the first.
// nt:  non-temporal stores, which write past the caches.
// rep: the processor's own string move, as the kernel copies.
// The last two only where this processor has them.
const std::vector<CopyKind>& copy_kinds();

}  // namespace nearpeak
