// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/collective.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "layer/protocol/opening.hpp"
#include "layer/protocol/requests.hpp"

namespace nearpeak::layer {

Peers::Peers(MPI_Comm comm) {
  int between = 0;
  NEARPEAK_REAL(MPI_Comm_test_inter)(comm, &between);
  two_groups_ = between != 0;
  NEARPEAK_REAL(MPI_Comm_rank)(comm, &rank_);
  NEARPEAK_REAL(MPI_Comm_size)(comm, &own_count_);
  count_ = own_count_;
  if (two_groups_) NEARPEAK_REAL(MPI_Comm_remote_size)(comm, &count_);
}

Neighbours::Neighbours(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  NEARPEAK_REAL(MPI_Topo_test)(comm, &topology);
  if (topology == MPI_CART) {
    int dimensions = 0;
    NEARPEAK_REAL(MPI_Cartdim_get)(comm, &dimensions);
    from_ = to_ = 2 * dimensions;
  } else if (topology == MPI_DIST_GRAPH) {
    int weighted = 0;
    NEARPEAK_REAL(MPI_Dist_graph_neighbors_count)(comm, &from_, &to_, &weighted);
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    NEARPEAK_REAL(MPI_Comm_rank)(comm, &rank);
    NEARPEAK_REAL(MPI_Graph_neighbors_count)(comm, rank, &from_);
    to_ = from_;
  }
}

Found find(const void* buffer, const std::vector<Part>& parts) {
  Span all;
  for (const Part& part : parts) {
    const Span span = span_of(part.n, part.type);
    if (span.bytes() == 0) continue;
    const Span there{span.low + part.offset, span.high + part.offset};
    all = all.bytes() == 0 ? there
                           : Span{std::min(all.low, there.low), std::max(all.high, there.high)};
  }
  if (is_in_place(buffer) || all.bytes() == 0) return find(buffer);
  return find_span(buffer, all);
}

HostShadows shadows_of(Buffers buffers, const FoundBuffers& found,
                       const std::array<Needed, 2>& needed) {
  HostShadows shadows{buffers, {}};
  const auto shadow = [&](const void* data, const Found& at, const Needed& of) {
    const Located place = world.devices.locate(at);
    accept_envelopes(place.device);
    shadows.made.emplace_back(world.devices, data, place, of.parts, of.use);
    return shadows.made.back().data();
  };
  if (found.data.on_device) shadows.buffers.data = shadow(buffers.data, found.data, needed[0]);
  if (found.in.on_device) shadows.buffers.in = shadow(buffers.in, found.in, needed[1]);
  return shadows;
}

void fill(HostShadows& shadows) {
  for (HostShadow& each : shadows.made) each.fill();
  ++world.counts.shadowed_calls;
}

void keep_collective(Begun begun, std::vector<HostShadow> shadows, MPI_Comm comm,
                     MPI_Request request) {
  if (begun == Begun::kNow && is_complete(request)) {
    for (HostShadow& each : shadows) each.write_back();
    return;
  }
  auto call = std::make_unique<ShadowedCall>(comm);
  call->shadows = std::move(shadows);
  call->persistent = begun == Begun::kByStart;
  call->started = begun == Begun::kNow;
  keep(std::move(call), request);
}

void keep_access(SharedShadows shadows, MPI_Request request) {
  if (is_complete(request)) return write_back_once(*shadows);
  auto call = std::make_unique<ShadowedCall>(calls::comm_world());
  call->shared = std::move(shadows);
  keep(std::move(call), request);
}

}  // namespace nearpeak::layer
