// SPDX-License-Identifier: Apache-2.0
#include "accel/reduction.hpp"

#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {
namespace {

using Kind = Combination::Kind;
using Operation = Combination::Operation;

// Loads of all of a thread's vectors are on their way before the first is needed: a link needs many
// bytes in flight. A thread reads an element everywhere before it writes it: the result may lie
// where an addend is. `kRanks` is the next of 2, 4 and 8. What is before `head` and behind the
// quads is read by elements; the result, which may lie otherwise than the addends, is then written
// so.
const char* const kReduction = R"(
constexpr u32 kOfQuad = 16 / sizeof(Element);
union Pack {
  Quad quad;
  Element of[kOfQuad];
};

template <u32 kRanks>
DEVICE void reduce_part(u8* to, const u8* const* from, u32 ranks, u64 count, u64 head, u64 quads) {
  constexpr u32 kDeep = 8 / kRanks;
  const u64 skipped = head * sizeof(Element);
  const bool fits = (u64)(to + skipped) % 16 == 0;
  const u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  const u64 step = (u64)gridDim.x * blockDim.x;
  for (u64 i = first; i < quads; i += kDeep * step) {
    Pack all[kDeep][kRanks];
#pragma unroll
    for (u32 d = 0; d < kDeep; ++d)
#pragma unroll
      for (u32 r = 0; r < kRanks; ++r)
        if (i + d * step < quads && r < ranks)
          all[d][r].quad = ((const Quad*)(from[r] + skipped))[i + d * step];
#pragma unroll
    for (u32 d = 0; d < kDeep; ++d) {
      if (i + d * step >= quads) continue;
      Pack sum = all[d][0];
#pragma unroll
      for (u32 r = 1; r < kRanks; ++r)
        if (r < ranks)
#pragma unroll
          for (u32 e = 0; e < kOfQuad; ++e) sum.of[e] = combined(sum.of[e], all[d][r].of[e]);
      if (unforeseen(fits)) {
        ((Quad*)(to + skipped))[i + d * step] = sum.quad;
        continue;
      }
#pragma unroll
      for (u32 e = 0; e < kOfQuad; ++e)
        ((Element*)to)[head + (i + d * step) * kOfQuad + e] = sum.of[e];
    }
  }
  for (u64 k = first; k < count - quads * kOfQuad; k += step) {
    const u64 i = k < head ? k : k + quads * kOfQuad;
    Element sum = ((const Element*)from[0])[i];
#pragma unroll
    for (u32 r = 1; r < kRanks; ++r)
      if (r < ranks) sum = combined(sum, ((const Element*)from[r])[i]);
    ((Element*)to)[i] = sum;
  }
}

WIDE_KERNEL reduce(u8* to, const u8* from0, const u8* from1, const u8* from2, const u8* from3,
                   const u8* from4, const u8* from5, const u8* from6, const u8* from7, u64 ranks,
                   u64 count, u64 head, u64 quads) {
  const u8* const from[] = {from0, from1, from2, from3, from4, from5, from6, from7};
  if (ranks <= 2) return reduce_part<2>(to, from, (u32)ranks, count, head, quads);
  if (ranks <= 4) return reduce_part<4>(to, from, (u32)ranks, count, head, quads);
  reduce_part<8>(to, from, (u32)ranks, count, head, quads);
}
)";

// The language's types of 1, 2, 4 and 8 bytes.
const char* type_of(Kind kind, unsigned bytes) {
  if (kind == Kind::kFloating) return bytes == 4 ? "float" : "double";
  const bool has_sign = kind == Kind::kSigned;
  if (bytes == 1) return has_sign ? "signed char" : "unsigned char";
  if (bytes == 2) return has_sign ? "short" : "unsigned short";
  if (bytes == 4) return has_sign ? "int" : "unsigned int";
  return has_sign ? "long long" : "unsigned long long";
}

const char* combined(Operation operation) {
  switch (operation) {
    case Operation::kSum:
      return "a + b";
    case Operation::kProduct:
      return "a * b";
    case Operation::kMax:
      return "a < b ? b : a";
    case Operation::kMin:
      return "b < a ? b : a";
    case Operation::kBitAnd:
      return "a & b";
    case Operation::kBitOr:
      return "a | b";
    case Operation::kBitXor:
      return "a ^ b";
    case Operation::kAnd:
      return "a && b";
    case Operation::kOr:
      return "a || b";
    case Operation::kXor:
      return "!a != !b";
  }
  return "";
}

}  // namespace

std::string reduction(const Combination& of) {
  return std::string("typedef ") + type_of(of.kind, of.bytes) +
         " Element;\nDEVICE Element combined(Element a, Element b) { return (Element)(" +
         combined(of.operation) + "); }\n" + kReduction;
}

}  // namespace nearpeak::kernels
