// SPDX-License-Identifier: Apache-2.0
// Up to which length a kernel copies faster than the copy engine. Between two places it is found
// by copying both ways: it depends on the GPU, and on what is between them.
#pragma once

#include <chrono>
#include <cstddef>

namespace nearpeak::layer {

class KernelCopyCrossover {
 public:
  using Time = std::chrono::steady_clock::duration;

  // `sure` bytes a kernel copies faster everywhere; up to `most` it may.
  KernelCopyCrossover(std::size_t sure, std::size_t most) : kernel_(sure), engine_(2 * most) {}

  // Whether a copy of so many bytes would tell more: a quarter of a length is near enough, so that
  // few are asked for whatever the lengths are.
  bool is_open(std::size_t bytes) const {
    return kernel_ + kernel_ / 4 < bytes && bytes + bytes / 4 < engine_;
  }
  bool kernel_takes(std::size_t bytes) const { return bytes <= kernel_; }
  // The best of some copies of so many bytes each way. A kernel is worth it where it gains a tenth.
  void note(std::size_t bytes, Time by_kernel, Time by_engine) {
    (by_kernel < by_engine - by_engine / 10 ? kernel_ : engine_) = bytes;
    found_ = true;
  }
  std::size_t kernel_bytes() const { return kernel_; }
  bool found() const { return found_; }

 private:
  bool found_ = false;
  std::size_t kernel_;  // the longest that was the kernel's
  std::size_t engine_;  // the shortest that was the engine's
};

}  // namespace nearpeak::layer
