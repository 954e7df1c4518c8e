// SPDX-License-Identifier: Apache-2.0
// CUDA's driver, loaded when the program runs; the prototypes follow NVIDIA's "CUDA Driver API"
// manual.
#pragma once

#include <memory>
#include <string>

#include "accel/gpu/driver.hpp"

namespace nearpeak::cuda {

// "13.0" for 13000.
std::string version_text(int version);

// Loads the driver and initialises it: libcuda.so.1, or what the environment's
// NEARPEAK_CUDA_LIBRARY names. Throws BackendUnavailable. The library stays loaded.
std::unique_ptr<const gpu::Driver> load_driver();

}  // namespace nearpeak::cuda
