// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/driver.hpp"

#include <cstdlib>

#include "accel/accelerator.hpp"
#include "accel/library.hpp"

namespace nearpeak::cuda {
namespace {

constexpr int kOldestVersion = 11000;
// cuda.h: CUDA_ERROR_MPS_CONNECTION_FAILED to CUDA_ERROR_MPS_CLIENT_TERMINATED.
constexpr int kFirstMpsError = 805;
constexpr int kLastMpsError = 810;

template <class Function>
void need(const Library& library, Function*& function, const char* symbol) {
  if (!library.find(function, symbol))
    throw BackendUnavailable("the driver is too old: " + library.name() + " has no " + symbol);
}

// Where a process sees no device, what hides them is outside of the driver.
std::string hint(int result) {
  if (result >= kFirstMpsError && result <= kLastMpsError)
    return "; a daemon of MPS is there that this process cannot use, as another user's: have it "
           "ended, or set CUDA_MPS_PIPE_DIRECTORY to an empty folder";
  if (result != kNoDevice) return "";
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) return std::string("; CUDA_VISIBLE_DEVICES is '") + visible + "'";
  return "; were this process's GPUs withheld by a job, container or cgroup?";
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string Driver::error_text(int result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != kSuccess || name == nullptr)
    return "error " + std::to_string(result);
  if (cuGetErrorString(result, &text) != kSuccess || text == nullptr) return name;
  return std::string(name) + ": " + text;
}

Driver load_driver() {
  const Library library("NEARPEAK_CUDA_LIBRARY", {"libcuda.so.1"});
  Driver driver;
  int (*get_version)(int*) = nullptr;
  need(library, get_version, "cuDriverGetVersion");
  if (get_version(&driver.version) != kSuccess)
    throw BackendUnavailable("cuDriverGetVersion of " + library.name() + " failed");
  if (driver.version < kOldestVersion)
    throw BackendUnavailable("the driver is too old: it offers CUDA " +
                             version_text(driver.version) + ", " + version_text(kOldestVersion) +
                             " or newer is needed");
#define NEARPEAK_NEED(name, ...) need(library, driver.name, #name);
  NEARPEAK_CUDA_FUNCTIONS(NEARPEAK_NEED)
#undef NEARPEAK_NEED
  if (!library.find(driver.cuDeviceGetUuid, "cuDeviceGetUuid_v2"))
    need(library, driver.cuDeviceGetUuid, "cuDeviceGetUuid");
  if (const int result = driver.cuInit(0); result != kSuccess)
    throw BackendUnavailable("cuInit: " + driver.error_text(result) + hint(result));
  return driver;
}

}  // namespace nearpeak::cuda
