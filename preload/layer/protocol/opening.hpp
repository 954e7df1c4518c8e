// SPDX-License-Identifier: Apache-2.0
// Which ranks of this machine open each other's memory of devices. Of a device that a process sees,
// its driver tells; of another one, as where CUDA_VISIBLE_DEVICES leaves each rank its own, the
// process tries it (docs/contributing/layer-design.md). Who calls holds the guard.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "layer/world/world.hpp"

namespace nearpeak::layer {

// What a device opens of a rank's memory.
struct Reach {
  bool handles = false;
  bool chunks = false;  // by file descriptors
};

// Gives others memory of this rank's device to try with: before it accepts envelopes, and where the
// device was taken again.
void give_trial(int device);
// This rank has used memory of a device.
void accept_envelopes(int device);
// Whether this rank opens memory of the device that another one uses, where both accept envelopes;
// says so to it.
bool opens(int rank);
// Whether that one, which accepts envelopes, opens this memory of this process, as far as is known.
bool is_opened_by(int rank, const Located& place);
// Whether this rank may open handles of another one that accepts envelopes. Drivers refuse those of
// other PID namespaces, or take them for another process's.
bool opens_handles_of(int rank);
// Whether that one opens handles of this rank.
bool takes_handles_of_this(int rank);
// Whether this rank takes file descriptors of another one. The system may forbid it.
bool takes_files_of(int rank);
// What this device opens of another rank that accepts envelopes and has no number here. It is
// opened and read.
Reach tried(int device, int rank);
// So many bytes of this memory, for a rank that opens memory of its device; nothing where it does
// not open this.
std::optional<Shown> show_to(int rank, const Located& place, const void* data, std::size_t bytes);
// The same for several, of which this one may be one.
std::optional<Shown> show_to(const std::vector<int>& ranks, const Located& place, const void* data,
                             std::size_t bytes);

}  // namespace nearpeak::layer
