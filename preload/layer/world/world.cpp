// SPDX-License-Identifier: Apache-2.0
#include "layer/world/world.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include "calls/handles.hpp"
#include "layer/datatype/freeing.hpp"

namespace nearpeak::layer {

World& world = *new World;

namespace {

// By rank, those of MPI_COMM_WORLD; empty: the same.
using Members = std::vector<int>;
auto& comms = *new calls::Handles<MPI_Comm, Members>;

Members members_of(MPI_Comm comm) {
  MPI_Group all{}, group{};
  int inter = 0, size = 0;
  NEARPEAK_REAL(MPI_Comm_group)(calls::comm_world(), &all);
  NEARPEAK_REAL(MPI_Comm_test_inter)(comm, &inter);
  if (inter != 0)
    NEARPEAK_REAL(MPI_Comm_remote_group)(comm, &group);
  else
    NEARPEAK_REAL(MPI_Comm_group)(comm, &group);
  NEARPEAK_REAL(MPI_Group_size)(group, &size);
  Members ranks(static_cast<std::size_t>(size)), there(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
  NEARPEAK_REAL(MPI_Group_translate_ranks)(group, size, ranks.data(), all, there.data());
  NEARPEAK_REAL(MPI_Group_free)(&group);
  NEARPEAK_REAL(MPI_Group_free)(&all);
  if (size == world.size && there == ranks) return {};
  for (int& rank : there)
    if (rank == MPI_UNDEFINED) rank = -1;
  return there;
}

}  // namespace

void say(const std::string& line) {
  std::fprintf(stderr, "nearpeak layer: %s\n", line.c_str());
  std::fflush(stderr);
}

void abort_job(int code) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // launchers forward a line before
  NEARPEAK_REAL(MPI_Abort)(calls::comm_world(), code);
  std::_Exit(code);  // MPICH's comes back, and its launcher ends the process a little later
}

void end_job(const std::string& line) {
  say("rank " + std::to_string(world.rank) + ": " + line);
  abort_job(1);
}

int raise(MPI_Comm comm, int error) {
  NEARPEAK_REAL(MPI_Comm_call_errhandler)(comm, error);
  return error;
}

void refuse(const char* call, const char* what) {
  say("rank " + std::to_string(world.rank) + ": " + call + " is not done " + what +
      ": give it host memory (docs/how-to/layer.md has the limits)");
  int over = 0;
  NEARPEAK_REAL(MPI_Finalized)(&over);
  if (over != 0) std::abort();  // there is nobody to tell, and MPI_COMM_WORLD is no more
}

Found find_span(const void* buffer, const Span& span) {
  if (span.bytes() == 0) return world.devices.find(buffer);
  // With MPI_BOTTOM it begins at no address.
  const std::uintptr_t base = reinterpret_cast<std::uintptr_t>(buffer);
  const auto at = [&](MPI_Aint offset) {
    return world.devices.find(
        reinterpret_cast<const void*>(base + static_cast<std::uintptr_t>(offset)));  // NOLINT
  };
  const Found first = at(span.low), last = at(span.high - 1);
  if (first.on_device != last.on_device)
    throw std::runtime_error(
        "a datatype that leads from memory of a device to memory of the host is not done");
  if (first.on_device && !world.devices.in_one_piece(first, last))
    throw std::runtime_error(
        "a datatype that leads from an allocation of a device to another one is not done");
  return first;
}

void Copies::note(End end, Route route, std::size_t bytes) const {
  if (!world.settings.by_length) return;
  By by = By::kEngine;
  if (by_kernels() > by_kernels_) by = By::kKernel;
  if (world.counts.proxied_copies > proxied_copies_) by = By::kOther;
  world.routes.note(end, route, by, bytes);
}

int world_rank(MPI_Comm comm, int rank) {
  const auto among = [rank](const Members& members) {
    if (members.empty()) return rank < world.size ? rank : -1;
    return static_cast<std::size_t>(rank) < members.size() ? members[rank] : -1;
  };
  if (const Members* const known = comms.find(comm)) return among(*known);
  const Members members = members_of(comm);
  if (Freeing<MPI_Comm>::find(comm) == nullptr) comms.put(comm, members);
  return among(members);
}

void forget_comm(MPI_Comm comm) { comms.drop(comm); }

}  // namespace nearpeak::layer
