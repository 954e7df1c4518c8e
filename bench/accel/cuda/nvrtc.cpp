// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/nvrtc.hpp"

#include <glob.h>

#include <memory>

namespace nearpeak::cuda {

std::vector<std::string> nvrtc_names() {
  std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  // Where NVIDIA's installer puts toolkits.
  glob_t found{};
  if (glob("/usr/local/cuda*/lib64/libnvrtc.so", 0, nullptr, &found) == 0)
    names.insert(names.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return names;
}

Nvrtc::Nvrtc() : library_("NEARPEAK_NVRTC_LIBRARY", nvrtc_names()) {
  const auto need = [this](auto*& function, const char* symbol) {
    if (!library_.find(function, symbol))
      throw BackendUnavailable(library_.name() + " is too old: it has no " + symbol);
  };
  need(error_string_, "nvrtcGetErrorString");
  need(create_, "nvrtcCreateProgram");
  need(destroy_, "nvrtcDestroyProgram");
  need(compile_, "nvrtcCompileProgram");
  need(log_size_, "nvrtcGetProgramLogSize");
  need(log_, "nvrtcGetProgramLog");
  need(code_size_, "nvrtcGetCUBINSize");
  need(code_, "nvrtcGetCUBIN");
}

void Nvrtc::check(int result, const char* call) const {
  if (result != 0) throw AcceleratorError(std::string(call) + ": " + error_string_(result));
}

std::string Nvrtc::compile(const std::string& source, int major, int minor) const {
  ProgramHandle made = nullptr;
  check(create_(&made, source.c_str(), "nearpeak.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  const auto destroy = [this](ProgramTag* program) { destroy_(&program); };
  const std::unique_ptr<ProgramTag, decltype(destroy)> program(made, destroy);

  const std::string target = "sm_" + std::to_string(major) + std::to_string(minor);
  const std::string architecture = "--gpu-architecture=" + target;
  const char* const options[] = {architecture.c_str(), "--std=c++17"};
  if (const int result = compile_(program.get(), 2, options); result != 0) {
    std::size_t bytes = 0;
    check(log_size_(program.get(), &bytes), "nvrtcGetProgramLogSize");
    std::string log(bytes, '\0');
    check(log_(program.get(), log.data()), "nvrtcGetProgramLog");
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    throw AcceleratorError("nvrtcCompileProgram of " + library_.name() + " for " + target + ": " +
                           error_string_(result) + (log.empty() ? "" : "\n" + log));
  }
  std::size_t bytes = 0;
  check(code_size_(program.get(), &bytes), "nvrtcGetCUBINSize");
  std::string code(bytes, '\0');
  check(code_(program.get(), code.data()), "nvrtcGetCUBIN");
  return code;
}

}  // namespace nearpeak::cuda
