// SPDX-License-Identifier: Apache-2.0
// Combines vectors that kernels of a device reach, element by element.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"

namespace nearpeak {

struct Reduction {
  enum class Kind { kUnsigned, kSigned, kFloating };
  enum class Operation { kSum, kProduct, kMax, kMin, kBitAnd, kBitOr, kBitXor, kAnd, kOr, kXor };

  Kind kind = Kind::kUnsigned;
  unsigned bytes = 4;  // of an element
  Operation operation = Operation::kSum;

  // Whether there is a kernel for it.
  bool known() const;
  // That of the kernel, which does several: only the least and the greatest of integers depend on
  // their sign.
  Reduction alike() const;
  std::string source() const;  // of a known one
  auto operator<=>(const Reduction&) const = default;
};

class Reducer {
 public:
  static constexpr std::size_t kMost = 8;  // vectors

  // Waits for the compiler (Kernels::begin). Throws as Kernels::finish does.
  Reducer(Device& device, const Reduction& reduction);

  // Of `count` elements each of the vectors, in their order: ((a + b) + c) + ... They are aligned
  // as their elements. The result may be where one of them is. It is there then.
  void reduce(void* to, const std::vector<const void*>& from, std::size_t count);

 private:
  const unsigned bytes_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace nearpeak
