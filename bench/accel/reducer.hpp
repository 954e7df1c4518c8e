// SPDX-License-Identifier: Apache-2.0
// Combines vectors that kernels of a device reach, element by element.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "accel/accelerator.hpp"
#include "accel/reduction.hpp"

namespace nearpeak {

class Reducer {
 public:
  static constexpr std::size_t kMost = 8;  // vectors

  // Waits for the compiler. Throws as Kernels::reduction() does.
  Reducer(Device& device, const Combination& reduction);

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
