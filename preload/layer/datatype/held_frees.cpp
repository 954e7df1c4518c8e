// SPDX-License-Identifier: Apache-2.0
#include "layer/datatype/held_frees.hpp"

#include <mutex>
#include <vector>

#include "layer/datatype/types.hpp"

namespace nearpeak::layer {
namespace {

struct Held {
  std::mutex mutex;
  int holders = 0;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Op> operations;
};
Held& held = *new Held;

template <typename Handle>
bool keep(std::vector<Handle>& all, Handle one) {
  const std::lock_guard lock(held.mutex);
  if (held.holders > 0) all.push_back(one);
  return held.holders > 0;
}

}  // namespace

FreesHeld::FreesHeld() {
  const std::lock_guard lock(held.mutex);
  ++held.holders;
}

FreesHeld::~FreesHeld() {
  if (!holds_) return;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Op> operations;
  {
    const std::lock_guard lock(held.mutex);
    if (--held.holders > 0) return;
    types.swap(held.types);
    operations.swap(held.operations);
  }
  for (MPI_Datatype& type : types) free_type(&type);
  for (MPI_Op& operation : operations) NEARPEAK_REAL(MPI_Op_free)(&operation);
}

bool hold_free_of_type(MPI_Datatype type) { return keep(held.types, type); }
bool hold_free_of_operation(MPI_Op operation) { return keep(held.operations, operation); }

}  // namespace nearpeak::layer
