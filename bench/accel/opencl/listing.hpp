// SPDX-License-Identifier: Apache-2.0
// The devices of all OpenCL platforms, as their drivers describe them.
#pragma once

#include <string>
#include <vector>

#include "accel/accelerator.hpp"
#include "accel/opencl/driver.hpp"

namespace nearpeak::opencl {

// What the backend needs to know of a device beyond DeviceInfo.
struct Listed {
  DeviceInfo info;
  DeviceHandle handle;
  unsigned compute_units;
  std::size_t largest_group;  // work-items
  std::size_t alignment;      // bytes: that of a sub-buffer's start
  bool has_compiler;
  Bits svm;  // kSvmCoarse, kSvmFine
};

struct Listing {
  std::string platforms;        // names and versions, for people
  std::vector<Listed> devices;  // GPUs, then accelerators, then CPUs
};

// A device that does not answer is listed with the reason. Throws BackendUnavailable where there is
// no device that can be used.
Listing list_devices(const Driver& driver);

// A UUID for a device whose driver gives none (cl_khr_device_uuid). It is the same at every run and
// in every process of a machine: RFC 9562's version 8, of two FNV-1a hashes of the text, which is
// the platform, vendor, name and PCI address, or else the number among the platform's devices.
std::string derived_uuid(const std::string& text);

}  // namespace nearpeak::opencl
