// SPDX-License-Identifier: Apache-2.0
#include "accel/reducer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "accel/kernels/kernels.hpp"

namespace nearpeak {
namespace {

using Kind = Reduction::Kind;
using Operation = Reduction::Operation;

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

bool Reduction::known() const {
  if (kind == Kind::kFloating) return (bytes == 4 || bytes == 8) && operation <= Operation::kMin;
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

Reduction Reduction::alike() const {
  Reduction out = *this;
  const bool by_order = operation == Operation::kMax || operation == Operation::kMin;
  if (kind == Kind::kSigned && !by_order) out.kind = Kind::kUnsigned;
  return out;
}

std::string Reduction::source() const {
  return kernels::reduction(type_of(kind, bytes), combined(operation));
}

Reducer::Reducer(Device& device, const Reduction& reduction)
    : bytes_(reduction.bytes),
      program_(kernels_of(device).finish(reduction.source())),
      kernel_(program_->kernel("reduce")),
      stream_(device.new_stream()) {}

void Reducer::reduce(void* to, const std::vector<const void*>& from, std::size_t count) {
  // As many as keep a link busy: of those that wait for memory of another device more are no gain,
  // and others need the multiprocessors.
  constexpr unsigned kThreads = 512;
  constexpr std::uint64_t kMostBlocks = 64;
  if (count == 0) return;
  std::array<const void*, kMost> all{};
  std::uint64_t together = reinterpret_cast<std::uint64_t>(to);
  for (std::size_t i = 0; i < kMost; ++i) {
    all[i] = from[i < from.size() ? i : 0];
    together |= reinterpret_cast<std::uint64_t>(all[i]);
  }
  const std::uint64_t ranks = from.size();
  const std::uint64_t elements = count;
  const std::uint64_t quads = together % 16 == 0 ? count * bytes_ / 16 : 0;
  const std::uint64_t threads = std::max<std::uint64_t>(quads, quads == 0 ? count : 0);
  const auto blocks =
      std::clamp<std::uint64_t>((threads + kThreads - 1) / kThreads, 1, kMostBlocks);
  kernel_->launch({.blocks = static_cast<unsigned>(blocks), .threads = kThreads},
                  {&to, &all[0], &all[1], &all[2], &all[3], &all[4], &all[5], &all[6], &all[7],
                   &ranks, &elements, &quads},
                  *stream_);
  stream_->synchronize();
}

}  // namespace nearpeak
