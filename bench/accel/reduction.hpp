// SPDX-License-Identifier: Apache-2.0
// What becomes of two numbers of a type.
#pragma once

#include <compare>

namespace nearpeak {

struct Combination {
  enum class Kind { kUnsigned, kSigned, kFloating };
  enum class Operation { kSum, kProduct, kMax, kMin, kBitAnd, kBitOr, kBitXor, kAnd, kOr, kXor };

  Kind kind = Kind::kUnsigned;
  unsigned bytes = 4;  // of an element
  Operation operation = Operation::kSum;

  // Whether there is a kernel for it.
  bool known() const;
  // That of the kernel, which does several: only the least and the greatest of integers depend on
  // their sign.
  Combination alike() const;
  auto operator<=>(const Combination&) const = default;
};

}  // namespace nearpeak
