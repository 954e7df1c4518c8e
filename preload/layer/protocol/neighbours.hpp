// SPDX-License-Identifier: Apache-2.0
// Which ranks run on this machine, and how this one reaches their memory and files: by the numbers
// of their processes, or by sockets where it sees none, as in containers.
#pragma once

#include <cstdint>

namespace nearpeak::layer {

// All ranks exchange what they are, in MPI_Init, and this one maps the areas of those of this
// machine. How many have a driver of GPUs.
int meet_neighbours(bool driver);
// Which numbers of processes this one sees; 0: not known.
std::uint64_t own_process_namespace();

}  // namespace nearpeak::layer
