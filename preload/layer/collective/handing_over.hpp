// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layer/protocol/advance.hpp"

namespace nearpeak::layer {

// While a call waits in the MPI library, and this rank does not go on with collectives that it has
// begun. Of these none is direct then and not complete: at its beginning, those that not all ranks
// have called within the patience become the MPI library's, and the others end.
class HandingOver {
 public:
  HandingOver();
  HandingOver(const HandingOver&) = delete;
  HandingOver& operator=(const HandingOver&) = delete;

 private:
  InLibrary in_library_;
};

}  // namespace nearpeak::layer
