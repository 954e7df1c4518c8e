// SPDX-License-Identifier: Apache-2.0
// What tests of kernels with the real compiler have in common.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "accel/cuda/nvrtc.hpp"
#include "accel/cuda/prelude.hpp"
#include "tests/accel/fake.hpp"

// The real NVRTC, where it is here; else empty.
inline std::string find_nvrtc() {
  for (const std::string& name : nearpeak::cuda::nvrtc_names())
    if (dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return name;
  return "";
}

// Compiles source for GPUs by the real NVRTC, which is to find these kernels. Skipped where it is
// not.
inline void compile_for_gpus(const std::string& source, const std::vector<std::string>& names) {
  const std::string library = find_nvrtc();
  if (library.empty()) {
    MESSAGE("skipped: NVRTC is not here");
    return;
  }
  const Variable chosen("NEARPEAK_NVRTC_LIBRARY", library);
  const nearpeak::cuda::Nvrtc nvrtc;
  for (const int major : {8, 9}) {
    const std::string code = nvrtc.compile(nearpeak::cuda::kPrelude + source, major, 0);
    CHECK(code.substr(1, 3) == "ELF");
    for (const std::string& name : names) CHECK(code.find(name) != std::string::npos);
  }
}
