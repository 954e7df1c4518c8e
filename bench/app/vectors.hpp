// SPDX-License-Identifier: Apache-2.0
// Vectors of the CPU, and stores past its caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// Cells that no cache holds are written past the caches, where the processor can: else what is
// written is read first.
inline bool exceeds_caches(const CaseContext& context, std::uint64_t bytes) {
  constexpr std::uint64_t kTimes = 2;
  return bytes > kTimes * context.cache_bytes;
}

// What was written past the caches is seen by whoever sees what is written later.
inline void order_stores() {
#if defined(__x86_64__)
  asm volatile("sfence" ::: "memory");
#endif
}

template <class Real, std::size_t kBytes>
struct VectorOf {
  static constexpr std::size_t kCells = kBytes / sizeof(Real);
  using Index = std::conditional_t<sizeof(Real) == 8, std::int64_t, std::int32_t>;
  typedef Real Type __attribute__((vector_size(kBytes), may_alias));
  typedef Real Loose __attribute__((vector_size(kBytes), aligned(sizeof(Real)), may_alias));
  typedef Index Places __attribute__((vector_size(kBytes)));
  // As doubles it is of several parts.
  static constexpr std::size_t kParts = sizeof(double) / sizeof(Real);
  typedef Real Part __attribute__((vector_size(kBytes / kParts)));
  typedef double Doubles __attribute__((vector_size(kBytes)));

  // Of two vectors that follow each other, as many places from the one at kFirst on.
  template <Index kFirst, class All = std::make_integer_sequence<Index, kCells>>
  struct From;
  template <Index kFirst, Index... kPlace>
  struct From<kFirst, std::integer_sequence<Index, kPlace...>> {
    static constexpr Places kPlaces{(kFirst + kPlace)...};
  };
};

}  // namespace nearpeak
