// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/operations.hpp"

#include <cstdint>

namespace nearpeak::layer {
namespace {

std::uint64_t unchecked_receives = 0;

}  // namespace

bool has_unchecked_receives() { return unchecked_receives > 0; }

Receive::~Receive() {
  if (owns_type_) free_type(&target.type);
}

// Not by MPI_Type_dup, which calls what the application has given to copy its attributes.
void Receive::hold_type() {
  if (target.dense || is_being_freed(target.type)) return;
  NEARPEAK_REAL(MPI_Type_contiguous)(1, target.type, &target.type);
  NEARPEAK_REAL(MPI_Type_commit)(&target.type);
  owns_type_ = true;
}

PostedReceive::~PostedReceive() {
  if (unchecked_) --unchecked_receives;
}

void PostedReceive::accept_no_envelope() {
  unchecked_ = true;
  ++unchecked_receives;
}

}  // namespace nearpeak::layer
