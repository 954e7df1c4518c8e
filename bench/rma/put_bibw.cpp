// SPDX-License-Identifier: Apache-2.0
#include "rma/transfer.hpp"

namespace nearpeak {
namespace {

const Register put_bibw_entry(transfer<Put, Flow::kBothWays>(
    {.name = "put_bibw",
     .summary =
         "bandwidth of MPI_Put in both directions together: a window of each rank at once"}));

}  // namespace
}  // namespace nearpeak
