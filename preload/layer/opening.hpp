// SPDX-License-Identifier: Apache-2.0
// Which ranks of this machine open each other's memory of devices. Of a device that a process sees,
// its driver tells; of another one, as where CUDA_VISIBLE_DEVICES leaves each rank its own, the
// process tries it (docs/layer.md). Who calls holds the guard.
#pragma once

#include "layer/world.hpp"

namespace nearpeak::layer {

// Before this rank is able: gives others memory of its device to try with.
void give_trial(int device);
// Says of all ranks that have become able meanwhile whether this one, which is able, opens memory
// of the device that they use.
void look_at_others();
// The same of one of them.
bool opens(int rank);
// Whether that one, which is able, opens this memory of this process, as far as is known.
bool is_opened_by(int rank, const Located& place);

}  // namespace nearpeak::layer
