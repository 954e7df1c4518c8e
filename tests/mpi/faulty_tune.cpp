// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library: one that its settings make faster, wrong, or hang.
// MPI_Send takes 40 us longer, but
//   NEARPEAK_PLANT_FAST=y      10 us
//   NEARPEAK_PLANT_CORRUPT=y   no longer, and a byte of messages of 4 KiB is wrong
//   NEARPEAK_PLANT_HANG=y      neither it nor MPI_Recv, which would poll, ever returns
//   NEARPEAK_PLANT_REFUSED=y   MPI_Init fails
//   NEARPEAK_PLANT_LIMIT=N     2 ns for each byte of shorter messages, 100 us for others
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "faulty.hpp"

namespace {

constexpr std::size_t kCorruptBytes = 4096;
constexpr std::chrono::microseconds kUsual(40), kFast(10), kNone(0), kLong(100);

bool is_set(const char* name) { return variable(name) == "y"; }

void hang_if_set() {
  while (is_set("NEARPEAK_PLANT_HANG")) ::pause();
}

}  // namespace

extern "C" int MPI_Init(int* argc, char*** argv) {
  if (is_set("NEARPEAK_PLANT_REFUSED")) std::exit(1);
  return PMPI_Init(argc, argv);
}

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (is_set("NEARPEAK_PLANT_REFUSED")) std::exit(1);
  return PMPI_Init_thread(argc, argv, required, provided);
}

extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag,
                        MPI_Comm comm) {
  hang_if_set();
  static const bool corrupts = is_set("NEARPEAK_PLANT_CORRUPT");
  static const auto delay = corrupts ? kNone : is_set("NEARPEAK_PLANT_FAST") ? kFast : kUsual;
  static const std::string limit = variable("NEARPEAK_PLANT_LIMIT");
  std::chrono::nanoseconds wait = delay;
  if (!limit.empty()) {
    const std::size_t bytes = bytes_of(count, type);
    wait = bytes < std::stoull(limit) ? std::chrono::nanoseconds(2 * bytes) : kLong;
  }
  const auto end = std::chrono::steady_clock::now() + wait;
  while (std::chrono::steady_clock::now() < end) {
  }
  const bool bytes = type == MPI_BYTE || type == MPI_CHAR;
  if (corrupts && bytes && bytes_of(count, type) == kCorruptBytes) {
    std::string wrong(static_cast<const char*>(data), kCorruptBytes);
    wrong[17] = static_cast<char>(~wrong[17]);
    return PMPI_Send(wrong.data(), count, type, to, tag, comm);
  }
  return PMPI_Send(data, count, type, to, tag, comm);
}

extern "C" int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                        MPI_Status* status) {
  hang_if_set();
  return PMPI_Recv(data, count, type, from, tag, comm, status);
}
