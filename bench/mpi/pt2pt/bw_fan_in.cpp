// SPDX-License-Identifier: Apache-2.0
// An iteration is a window from every sender, and an empty reply to each.
#include "mpi/pt2pt/fan.hpp"

namespace nearpeak {
namespace {

const Register entry(fan_benchmark(
    Fan::kIn, "bw_fan_in", "mr_fan_in",
    "bandwidth and message rate into rank 0: a window of messages from every other rank at once"));

}  // namespace
}  // namespace nearpeak
