// SPDX-License-Identifier: Apache-2.0
// OpenCL for tests: PoCL, which runs on the CPU, where it is installed. It is real: its kernels are
// compiled and run, and its queues have threads of their own.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>

#include "accel/accelerator.hpp"
#include "tests/accel/fake.hpp"

// True where there is a loader of OpenCL; then there has to be a driver too. PoCL is told to offer
// two devices, and to keep what it compiles where the tests may write.
inline bool has_opencl() {
  setenv("POCL_DEVICES", "pthread basic", 0);
  setenv("POCL_CACHE_DIR", OPENCL_CACHE, 0);
  const char* const named = std::getenv("NEARPEAK_OPENCL_LIBRARY");
  const char* const library = named == nullptr ? "libOpenCL.so.1" : named;
  static const bool loads = dlopen(library, RTLD_NOW | RTLD_LOCAL) != nullptr;
  if (!loads) MESSAGE("skipped: ", library, " is not here");
  return loads;
}

inline std::unique_ptr<nearpeak::Accelerator> load_opencl() { return load_backend("opencl"); }
