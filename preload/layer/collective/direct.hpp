// SPDX-License-Identifier: Apache-2.0
// Collectives whose ranks, all on one node, read each other's memory of devices. Each of these says
// whether it is done; else all ranks do it through shadows, as all decide alike
// (docs/contributing/layer-design.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "layer/collective/collective.hpp"

namespace nearpeak::layer {

bool allreduce(const FoundBuffers& found, const void* data, void* in, MPI_Count n,
               MPI_Datatype type, MPI_Op op, MPI_Comm comm);
bool reduce(const FoundBuffers& found, const void* data, void* in, MPI_Count n, MPI_Datatype type,
            MPI_Op op, int root, MPI_Comm comm);
bool reduce_scatter_block(const FoundBuffers& found, const void* data, void* in, MPI_Count n,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm);
bool bcast(const FoundBuffers& found, void* in, MPI_Count n, MPI_Datatype type, int root,
           MPI_Comm comm);
bool gather(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type, void* in,
            MPI_Count m, MPI_Datatype in_type, int root, MPI_Comm comm);
bool scatter(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type, void* in,
             MPI_Count m, MPI_Datatype in_type, int root, MPI_Comm comm);
bool allgather(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type,
               void* in, MPI_Count m, MPI_Datatype in_type, MPI_Comm comm);
bool alltoall(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type, void* in,
              MPI_Count m, MPI_Datatype in_type, MPI_Comm comm);

// The forms with a count and a place for each rank: what of a buffer is whose, of so many ranks.
using Shares = std::function<std::vector<Part>(int ranks)>;
bool gatherv(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type, void* in,
             const Shares& shares, int root, MPI_Comm comm);
bool scatterv(const FoundBuffers& found, const void* data, const Shares& shares, void* in,
              MPI_Count m, MPI_Datatype in_type, int root, MPI_Comm comm);
bool allgatherv(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type,
                void* in, const Shares& shares, MPI_Comm comm);
bool alltoallv(const FoundBuffers& found, const void* data, const Shares& gives, void* in,
               const Shares& gets, MPI_Comm comm);
bool reduce_scatter(const FoundBuffers& found, const void* data, void* in, const Shares& shares,
                    MPI_Datatype type, MPI_Op op, MPI_Comm comm);

// Given by std::ref: of a call that is not direct nothing is allocated.
template <typename Count, typename Place>
auto listed(const Count* n, const Place* places, MPI_Datatype type) {
  return [=](int ranks) { return parts(ranks, n, places, type); };
}
// One behind the other.
template <typename Count>
auto listed(const Count* n, MPI_Datatype type) {
  return [=](int ranks) {
    std::vector<MPI_Count> places(1, 0);
    for (int i = 0; i + 1 < ranks; ++i) places.push_back(places.back() + n[i]);
    return parts(ranks, n, places.data(), type);
  };
}

// What is kept of a communicator, which is about to be freed: all ranks have it, or none. Whoever
// takes it gives it back, if the communicator was not freed, or ends it.
struct Circle;
using KeptCircle = std::optional<std::shared_ptr<Circle>>;
KeptCircle take_circle(MPI_Comm comm);
void give_circle(MPI_Comm comm, const KeptCircle& circle);
void end_circle(const KeptCircle& circle);

}  // namespace nearpeak::layer
