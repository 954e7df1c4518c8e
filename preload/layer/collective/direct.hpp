// SPDX-License-Identifier: Apache-2.0
// Collectives whose ranks, all on one node, read each other's memory of devices
// (docs/contributing/layer-design.md).
#pragma once

#include <functional>
#include <vector>

#include "layer/collective/collective.hpp"
#include "layer/collective/exchange.hpp"

namespace nearpeak::layer {

// How a collective is called: it waits, is only begun, or is made to be started.
class CollectiveForm {
 public:
  virtual ~CollectiveForm() = default;
  // `wrong`: whether the call is. Returns whether it is done directly, or is begun so; else all
  // ranks do it through shadows, as all decide alike.
  virtual bool take(const FoundBuffers& found, MPI_Comm comm, bool wrong, const Wanted& wanted) = 0;

 protected:
  CollectiveForm() = default;
  CollectiveForm(const CollectiveForm&) = default;
  CollectiveForm& operator=(const CollectiveForm&) = default;
};

class WaitingForm final : public CollectiveForm {
 public:
  bool take(const FoundBuffers& found, MPI_Comm comm, bool wrong, const Wanted& wanted) override;
};

// Each by its form, which tells what it returns.
bool allreduce(CollectiveForm& form, const FoundBuffers& found, const void* data, void* in,
               MPI_Count n, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
bool reduce(CollectiveForm& form, const FoundBuffers& found, const void* data, void* in,
            MPI_Count n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
bool reduce_scatter_block(CollectiveForm& form, const FoundBuffers& found, const void* data,
                          void* in, MPI_Count n, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
bool bcast(CollectiveForm& form, const FoundBuffers& found, void* in, MPI_Count n,
           MPI_Datatype type, int root, MPI_Comm comm);
bool gather(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
            MPI_Datatype type, void* in, MPI_Count m, MPI_Datatype in_type, int root,
            MPI_Comm comm);
bool scatter(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
             MPI_Datatype type, void* in, MPI_Count m, MPI_Datatype in_type, int root,
             MPI_Comm comm);
bool allgather(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
               MPI_Datatype type, void* in, MPI_Count m, MPI_Datatype in_type, MPI_Comm comm);
bool alltoall(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
              MPI_Datatype type, void* in, MPI_Count m, MPI_Datatype in_type, MPI_Comm comm);

// The forms with a count and a place for each rank: what of a buffer is whose, of so many ranks.
using Shares = std::function<std::vector<Part>(int ranks)>;
bool gatherv(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
             MPI_Datatype type, void* in, const Shares& shares, int root, MPI_Comm comm);
bool scatterv(CollectiveForm& form, const FoundBuffers& found, const void* data,
              const Shares& shares, void* in, MPI_Count m, MPI_Datatype in_type, int root,
              MPI_Comm comm);
bool allgatherv(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
                MPI_Datatype type, void* in, const Shares& shares, MPI_Comm comm);
bool alltoallv(CollectiveForm& form, const FoundBuffers& found, const void* data,
               const Shares& gives, void* in, const Shares& gets, MPI_Comm comm);
bool reduce_scatter(CollectiveForm& form, const FoundBuffers& found, const void* data, void* in,
                    const Shares& shares, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

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

}  // namespace nearpeak::layer
