// SPDX-License-Identifier: Apache-2.0
// Where device memory comes from.
#pragma once

#include <cstddef>

namespace nearpeak::gpu {

// One way to allocate it. Throws the accelerator's errors.
class Source {
 public:
  virtual ~Source() = default;
  virtual void* allocate(std::size_t bytes) = 0;  // at least one
  virtual void release(void* memory) noexcept = 0;
};

}  // namespace nearpeak::gpu
