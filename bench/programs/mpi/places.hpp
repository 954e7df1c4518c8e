// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other before anything is measured. Everything here is collective.
#pragma once

#include <string>
#include <vector>

#include "mpi/mpi_group.hpp"
#include "programs/mpi/device_choice.hpp"

namespace nearpeak {

// Each rank's place and device, as for RecordWriter::environment. Throws BadInput on every rank
// where two ranks of a host are on one device but asked for two, or on two and asked for one; and
// where those that chose by their place share the host's devices unevenly.
std::vector<std::string> gather_places(const DeviceChoice& devices, MpiGroup& group);

// Throws BadInput on every rank where the leader cannot append to this file; empty is none.
void check_writable(const std::string& jsonl, Group& group);

std::string library_version();
// Its first words: "Open MPI v5.0.11". And the file that it was loaded from; empty where unknown.
std::string library_name();
std::string library_file();

// Throws BadInput where the library that is loaded is not the one of the launcher, and nobody chose
// it. Needs no MPI_Init, which such a launcher may not let come back.
void check_launcher();

// What to say where the launcher started several ranks that are jobs of one rank each to the
// library; empty otherwise.
std::string jobs_of_one(const Group& group);

}  // namespace nearpeak
