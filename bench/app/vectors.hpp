// SPDX-License-Identifier: Apache-2.0
// Vectors of the CPU, and stores past its caches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "app/large_pages.hpp"
#include "benchmark/benchmark.hpp"
#include "sampling/clock.hpp"

namespace nearpeak {

// Whether so many bytes of cells are to be written past the caches, where the processor can: else
// what is written is read first. What no cache holds is. What one may hold is tried, as a cache
// that other machines of the same host use too, or that is far away, may be no gain: `sweep(past)`
// does with all cells what the application will, this way or that.
template <class Sweep>
bool writes_past_caches(const CaseContext& context, std::uint64_t bytes, Sweep sweep) {
  constexpr std::uint64_t kTimes = 2;
  constexpr std::uint64_t kOwnCaches = std::uint64_t{1} << 20;  // of a core: what they hold stays
  constexpr double kGain = 0.95;
  constexpr int kTurns = 3;
  if (bytes > kTimes * context.cache_bytes) return true;
  if (bytes <= kOwnCaches) return false;
  std::array<std::int64_t, 2> best_ns{};
  for (const bool past : {false, true})
    for (int turn = 0; turn < kTurns; ++turn) {
      const std::int64_t begin = now_ns();
      sweep(past);
      const std::int64_t ns = now_ns() - begin;
      // The first turn finds the caches as the other way has left them.
      if (turn == 1 || (turn > 1 && ns < best_ns[past])) best_ns[past] = ns;
    }
  return static_cast<double>(best_ns[true]) < kGain * static_cast<double>(best_ns[false]);
}

// Memory that a trial finds as the application will: written, and in large pages.
inline void touch(const SlotBuffer& buffer) {
  ask_for_large_pages(buffer);
  std::memset(buffer.slot(0), 0, buffer.layout().stride * buffer.layout().count);
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

  // Written past the caches. As `take`, it is compiled for what its caller is compiled for.
  [[gnu::always_inline]] static void put_past_caches(Type* to, const Type& value) {
#if defined(__clang__)
    __builtin_nontemporal_store(value, to);
#elif defined(__x86_64__)
    if constexpr (kBytes == 64)
      asm volatile("vmovntps %1, %0" : "=m"(*to) : "v"(value));
    else if constexpr (kBytes == 32)
      asm volatile("vmovntps %1, %0" : "=m"(*to) : "x"(value));
    else
      asm volatile("movntps %1, %0" : "=m"(*to) : "x"(value));
#endif
  }

  // `to`: of two vectors that follow each other, as many places from the one at kFirst on.
  template <Index kFirst>
  [[gnu::always_inline]] static void take(Type& to, const Type& here, const Type& next) {
    take<kFirst>(to, here, next, std::make_integer_sequence<Index, kCells>());
  }

 private:
  template <Index kFirst, Index... kPlace>
  [[gnu::always_inline]] static void take(Type& to, const Type& here, const Type& next,
                                          std::integer_sequence<Index, kPlace...>) {
#if defined(__clang__)
    to = __builtin_shufflevector(here, next, (kFirst + kPlace)...);
#else
    to = __builtin_shuffle(here, next, Places{(kFirst + kPlace)...});
#endif
  }
};

}  // namespace nearpeak
