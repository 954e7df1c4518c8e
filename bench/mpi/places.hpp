// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other before anything is measured. Everything here is collective.
#pragma once

#include <string>
#include <vector>

#include "mpi/device_choice.hpp"
#include "mpi/mpi_group.hpp"

namespace nearpeak {

// Each rank's place and device, as for RecordWriter::environment. Throws BadInput on every rank
// where two ranks of a host are on one device but asked for two, or on two and asked for one; and
// where those that chose by their place share the host's devices unevenly.
std::vector<std::string> gather_places(const DeviceChoice& devices, MpiGroup& group);

// Throws BadInput on every rank where the leader cannot append to this file; empty is none.
void check_writable(const std::string& jsonl, Group& group);

std::string library_version();

}  // namespace nearpeak
