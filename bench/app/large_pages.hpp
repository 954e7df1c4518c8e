// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "accel/memory.hpp"

namespace nearpeak {

// Host memory that nobody has written yet: the kernel gives large pages where they are asked for. A
// walk through page tables is no part of what is measured.
inline void ask_for_large_pages(const SlotBuffer& buffer) {
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer.slot(0));
  const std::uintptr_t first = (begin + kLargePage - 1) / kLargePage * kLargePage;
  const std::uintptr_t end =
      (begin + buffer.layout().stride * buffer.layout().count) / kLargePage * kLargePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace nearpeak
