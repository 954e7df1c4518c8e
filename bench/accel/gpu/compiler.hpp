// SPDX-License-Identifier: Apache-2.0
// The vendors' compilers of kernels at run time, NVRTC and hipRTC: the same functions, which begin
// with another word. The prototypes follow their manuals.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "accel/library.hpp"

namespace nearpeak::gpu {

class Compiler {
 public:
  // `word` is "nvrtc" or "hiprtc"; "CUBIN" and "Code" is what it calls machine code. Throws
  // BackendUnavailable.
  Compiler(Library library, const std::string& word, const std::string& code);

  // Machine code for `target`, which errors name. Throws AcceleratorError with the compiler's log.
  std::string compile(const std::string& source, const std::string& target,
                      const std::vector<std::string>& options) const;

 private:
  using ProgramHandle = struct ProgramTag*;

  void check(int result, const std::string& function) const;

  Library library_;
  std::string word_;
  std::string code_name_;
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

}  // namespace nearpeak::gpu
