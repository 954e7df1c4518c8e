// SPDX-License-Identifier: Apache-2.0
#include "rma/transfer.hpp"

namespace nearpeak {
namespace {

const Register put_bw_entry(transfer<Put, Flow::kRate>(
    {.name = "put_bw",
     .summary = "bandwidth of MPI_Put: a window of them from rank 0, then one synchronisation",
     .usual = true}));

}  // namespace
}  // namespace nearpeak
