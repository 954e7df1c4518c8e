// SPDX-License-Identifier: Apache-2.0
// NVRTC, NVIDIA's compiler of kernels at run time; the prototypes follow its manual.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "accel/library.hpp"

namespace nearpeak::cuda {

// Under which it may be found: by the loader, or in a toolkit's usual folder.
std::vector<std::string> nvrtc_names();

class Nvrtc {
 public:
  // The first of these, or what the environment's NEARPEAK_NVRTC_LIBRARY names. Throws
  // BackendUnavailable.
  Nvrtc();

  // Machine code of a GPU of this compute capability: a driver older than the compiler would
  // refuse PTX. Throws AcceleratorError with the compiler's log.
  std::string compile(const std::string& source, int major, int minor) const;

 private:
  using ProgramHandle = struct ProgramTag*;

  void check(int result, const char* call) const;

  Library library_;
  const char* (*error_string_)(int) = nullptr;
  int (*create_)(ProgramHandle*, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*destroy_)(ProgramHandle*) = nullptr;
  int (*compile_)(ProgramHandle, int, const char* const*) = nullptr;
  int (*log_size_)(ProgramHandle, std::size_t*) = nullptr;
  int (*log_)(ProgramHandle, char*) = nullptr;
  int (*code_size_)(ProgramHandle, std::size_t*) = nullptr;
  int (*code_)(ProgramHandle, char*) = nullptr;
};

}  // namespace nearpeak::cuda
