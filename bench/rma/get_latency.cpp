// SPDX-License-Identifier: Apache-2.0
#include "rma/transfer.hpp"

namespace nearpeak {
namespace {

const Register get_latency_entry(transfer<Get, Flow::kLatency>(
    {.name = "get_latency",
     .summary = "time of one MPI_Get of rank 0 from rank 1's memory, with its synchronisation"}));

}  // namespace
}  // namespace nearpeak
