// SPDX-License-Identifier: Apache-2.0
#include "accel/host/copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>

#include "accel/host/cpu.hpp"
#endif

namespace nearpeak {
namespace {

void copy_plain(char* to, const char* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

#if defined(__x86_64__)

constexpr std::size_t kLine = 64;

// Whole lines go to memory as such; the ends that are no whole line are copied plainly.
template <void (*CopyLines)(char*, const char*, std::size_t)>
void copy_streaming(char* to, const char* from, std::size_t bytes) {
  const std::size_t misplaced = reinterpret_cast<std::uintptr_t>(to) % kLine;
  const std::size_t head = misplaced == 0 ? 0 : kLine - misplaced;
  if (bytes < head + kLine) return copy_plain(to, from, bytes);
  std::memcpy(to, from, head);
  const std::size_t lines = (bytes - head) / kLine * kLine;
  CopyLines(to + head, from + head, lines);
  std::memcpy(to + head + lines, from + head + lines, bytes - head - lines);
  _mm_sfence();  // a release store does not order streaming stores
}

// Compiled for what its caller is compiled for.
[[gnu::always_inline]] inline void line_sse2(char* to, const char* from) {
  const auto* in = reinterpret_cast<const __m128i*>(from);
  auto* out = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(in);
  const __m128i b = _mm_loadu_si128(in + 1);
  const __m128i c = _mm_loadu_si128(in + 2);
  const __m128i d = _mm_loadu_si128(in + 3);
  _mm_stream_si128(out, a);
  _mm_stream_si128(out + 1, b);
  _mm_stream_si128(out + 2, c);
  _mm_stream_si128(out + 3, d);
}

void lines_sse2(char* to, const char* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kLine) line_sse2(to + i, from + i);
}

// Four pieces at once, which one core of some processors needs to have enough on its way (an AMD
// EPYC copies 14.9 GB/s so, and 11.5 GB/s one piece after the other). They begin at places in their
// pages that are far apart, as CPUs take one address for another that is as far into its page.
constexpr std::size_t kPieces = 4;
constexpr std::size_t kPage = 4096, kApart = 768;

std::size_t piece_of(std::size_t bytes) {
  const std::size_t whole = bytes / kPieces / kPage * kPage;
  return whole < kPage ? 0 : whole - kPage + kApart;
}

void pieces_sse2(char* to, const char* from, std::size_t bytes) {
  const std::size_t piece = piece_of(bytes);
  for (std::size_t i = 0; i < piece; i += kLine)
    for (std::size_t at = i; at < kPieces * piece; at += piece) line_sse2(to + at, from + at);
  lines_sse2(to + kPieces * piece, from + kPieces * piece, bytes - kPieces * piece);
}

__attribute__((target("avx512f"))) void lines_avx512(char* to, const char* from,
                                                     std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kLine)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
}

__attribute__((target("avx512f"))) void pieces_avx512(char* to, const char* from,
                                                      std::size_t bytes) {
  const std::size_t piece = piece_of(bytes);
  for (std::size_t i = 0; i < piece; i += kLine)
    for (std::size_t at = i; at < kPieces * piece; at += piece)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
  lines_avx512(to + kPieces * piece, from + kPieces * piece, bytes - kPieces * piece);
}

void copy_string(char* to, const char* from, std::size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  _mm_sfence();  // its stores may be weakly ordered among themselves
}

#endif

std::vector<CopyKind> find_kinds() {
  std::vector<CopyKind> kinds{{"memcpy", copy_plain, 0}};
#if defined(__x86_64__)
  constexpr std::size_t kNtSmallest = std::size_t{256} << 10;  // smaller ones fit the caches
  constexpr std::size_t kNt4Smallest = std::size_t{1} << 20;
  constexpr std::size_t kRepSmallest = 4096;  // it starts slowly
  const bool avx512 = cpu_has("avx512f");
  kinds.push_back(
      {"nt", avx512 ? copy_streaming<lines_avx512> : copy_streaming<lines_sse2>, kNtSmallest});
  kinds.push_back(
      {"nt4", avx512 ? copy_streaming<pieces_avx512> : copy_streaming<pieces_sse2>, kNt4Smallest});
  kinds.push_back({"rep", copy_string, kRepSmallest});
#endif
  return kinds;
}

}  // namespace

const std::vector<CopyKind>& copy_kinds() {
  static const std::vector<CopyKind> kinds = find_kinds();
  return kinds;
}

}  // namespace nearpeak
