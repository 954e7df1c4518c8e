// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other beside the measurements. Everything here is collective.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mpi/device_choice.hpp"
#include "record/record.hpp"

namespace nearpeak {

inline constexpr int kLeader = 0;

int rank_in(MPI_Comm comm);

// Every rank's text, on every rank, in the order of the ranks.
std::vector<std::string> gather(const std::string& text, MPI_Comm comm);

// The first rank's mismatch, known to every rank.
std::optional<WrongData> first_wrong(const std::optional<Mismatch>& mine, MPI_Comm comm);

// Whether it is so on every rank.
bool everywhere(bool mine, MPI_Comm comm);

// What stopped a rank before MPI_Init.
struct Failure {
  int status = 0;  // the exit status; 0: nothing did
  std::string text;
};

// The exit status of all where something stopped any of them, which the leader then says.
int settle(const Failure& mine, MPI_Comm comm);

// Each rank's place and device, as for RecordWriter::environment. Throws BadInput on every rank
// where two ranks of a host are on one device but asked for two, or on two and asked for one.
std::vector<std::string> gather_places(const DeviceChoice& devices, MPI_Comm comm);

// The leader's writes records to the file, where there is one. A file that it cannot open is every
// rank's BadInput.
std::unique_ptr<RecordWriter> open_writer(const std::string& jsonl, MPI_Comm comm);

std::string library_version();

}  // namespace nearpeak
