// SPDX-License-Identifier: Apache-2.0
// Which memory each rank's buffers are in, and which accelerator it takes for them: --buffers and
// --devices. The accelerator is taken before MPI_Init, where a GPU-aware library looks for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"
#include "accel/kinds.hpp"
#include "record/record.hpp"

namespace nearpeak {

// What --devices asks of one rank: "1", "GPU-...", "opencl:0"; "-" for none, where its buffers are
// H.
struct DeviceSpec {
  std::string backend;  // empty: as load_accelerator() has it
  std::string device;   // an index or a UUID; empty: the local rank modulo the number of devices
  bool none = false;
  bool operator==(const DeviceSpec&) const = default;
};

// One for each rank, or one for all of them; none given is one for all, too. "0*16" is one for each
// of 16 ranks in a row. Throws BadInput.
std::vector<DeviceSpec> parse_devices(const std::string& text);

inline constexpr const char* kByPlace = " by its place";

// The accelerator of this rank: it has one if its buffers need one, or if one is named for it.
class DeviceChoice {
 public:
  // Host memory alone.
  DeviceChoice() = default;
  // Takes the device that `devices` gives this rank and compiles its kernels, for buffers of any of
  // these kinds. Throws BadInput, BackendUnavailable and the accelerator's errors.
  DeviceChoice(const std::vector<Kinds>& kinds, const std::vector<DeviceSpec>& devices);

  Device* device() const { return device_; }  // null without one
  // Makes it the thread's current one, if there is one: MPI_Init may leave another one current.
  void use_in_this_thread() const;
  // From the allocator where it gives this kind, else from the plain one. Throws the accelerator's
  // errors.
  Memory& memory(BufferKind kind, const std::string& allocator = kPlain) const;
  // As a record names it.
  std::optional<RankDevice> place() const;
  // How many there are that it might have taken; 0 without one.
  int visible() const { return visible_; }
  // What --devices named, or else the index that the rank's place on its host came to, with
  // kByPlace behind it; empty without a device.
  const std::string& asked() const { return asked_; }
  int rank() const { return rank_; }    // as the launcher has told it; -1 if not
  int ranks() const { return ranks_; }  // the number that the choice was made for; 0: any

 private:
  std::unique_ptr<Accelerator> accelerator_;
  Device* device_ = nullptr;
  std::string asked_;
  int visible_ = 0;
  int rank_ = -1;
  int ranks_ = 0;
};

}  // namespace nearpeak
