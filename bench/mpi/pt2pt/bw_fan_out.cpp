// SPDX-License-Identifier: Apache-2.0
// An iteration is a window to every receiver, and an empty reply from each.
#include "mpi/pt2pt/fan.hpp"

namespace nearpeak {
namespace {

const Register entry(fan_benchmark(
    Fan::kOut, "bw_fan_out", "mr_fan_out",
    "bandwidth and message rate out of rank 0: a window of messages to every other rank at once"));

}  // namespace
}  // namespace nearpeak
