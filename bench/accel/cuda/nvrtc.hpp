// SPDX-License-Identifier: Apache-2.0
// NVRTC, NVIDIA's compiler of kernels at run time.
#pragma once

#include <string>
#include <vector>

#include "accel/gpu/compiler.hpp"

namespace nearpeak::cuda {

// Under which it may be found: by the loader, or in a toolkit's usual folder.
std::vector<std::string> nvrtc_names();

class Nvrtc {
 public:
  // The first of these, or what the environment's NEARPEAK_NVRTC_LIBRARY names. Throws
  // BackendUnavailable.
  Nvrtc();

  // With which it compiles for a GPU of this compute capability.
  static std::vector<std::string> options(int major, int minor);

  // Machine code of a GPU of this compute capability: a driver older than the compiler would
  // refuse PTX. Throws AcceleratorError with the compiler's log.
  std::string compile(const std::string& source, int major, int minor) const;

 private:
  gpu::Compiler compiler_;
};

}  // namespace nearpeak::cuda
