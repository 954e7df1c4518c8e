// SPDX-License-Identifier: Apache-2.0
#include "rma/transfer.hpp"

namespace nearpeak {
namespace {

const Register get_bw_entry(transfer<Get, Flow::kRate>(
    {.name = "get_bw",
     .summary = "bandwidth of MPI_Get: a window of them by rank 0, then one synchronisation"}));

}  // namespace
}  // namespace nearpeak
