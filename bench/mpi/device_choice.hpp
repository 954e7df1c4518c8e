// SPDX-License-Identifier: Apache-2.0
// Which memory each rank's buffers are in, and which accelerator it takes for them: --buffers and
// --devices. The accelerator is taken before MPI_Init, where a GPU-aware library looks for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"
#include "record/record.hpp"

namespace nearpeak {

// The kind of each rank's buffers.
using Kinds = std::vector<BufferKind>;

// "H,D". Throws BadInput, also where there are not `ranks` of them.
Kinds parse_kinds(const std::string& text, int ranks);

// Whether some rank's buffers are memory that only a device's driver gives.
bool need_device(const Kinds& kinds);

// What --devices asks of one rank: "1", "GPU-...", "opencl:0", "-".
struct DeviceSpec {
  std::string backend = "cuda";
  std::string device;  // an index or a UUID; empty: the local rank modulo the number of devices
  bool none = false;
};

// One for each rank, or one for all of them. Throws BadInput.
std::vector<DeviceSpec> parse_devices(const std::string& text, int ranks);

inline constexpr const char* kByPlace = " by its place";

// The accelerator of this rank: it has one if its buffers need one, or if one is named for it in a
// launch where some rank's do.
class DeviceChoice {
 public:
  // Host memory alone.
  DeviceChoice() = default;
  // Takes the device that `devices` gives this rank and compiles its kernels. Throws BadInput,
  // BackendUnavailable and the accelerator's errors.
  DeviceChoice(const std::vector<Kinds>& kinds, const std::vector<DeviceSpec>& devices);

  Device* device() const { return device_; }  // null without one
  Memory& memory(BufferKind kind) const;
  // As a record names it.
  std::optional<RankDevice> place() const;
  // What --devices named, or else the index that the rank's place on its host came to, with
  // kByPlace behind it; empty without a device.
  const std::string& asked() const { return asked_; }
  int rank() const { return rank_; }  // as the launcher has told it; -1 if not

 private:
  std::unique_ptr<Accelerator> accelerator_;
  Device* device_ = nullptr;
  std::string asked_;
  int rank_ = -1;
};

}  // namespace nearpeak
