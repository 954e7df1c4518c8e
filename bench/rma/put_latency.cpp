// SPDX-License-Identifier: Apache-2.0
#include "rma/transfer.hpp"

namespace nearpeak {
namespace {

const Register put_latency_entry(transfer<Put, Flow::kLatency>(
    {.name = "put_latency",
     .summary = "time of one MPI_Put of rank 0 into rank 1's memory, with its synchronisation",
     .usual = true}));

}  // namespace
}  // namespace nearpeak
