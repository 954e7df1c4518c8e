// SPDX-License-Identifier: Apache-2.0
// Ping-pong between two ranks with messages in parts. An iteration is one round trip.
#include "benchmark/check_memory.hpp"
#include "mpi/mpi_group.hpp"
#include "mpi/pt2pt/lanes.hpp"
#include "pt2pt/ping_pong.hpp"
#include "transport/mpi/partitioned.hpp"

namespace nearpeak {
namespace {

constexpr const char* kPartitions = "partitions";

class PartitionedPingPong : public PingPong<Partitioned> {
 public:
  using PingPong<Partitioned>::PingPong;
  std::vector<double> values(const Times& times) const override { return {times.us / 2}; }
};

// Throws Unfit on all ranks.
std::unique_ptr<Case> make(const CaseContext& context) {
  const int parts = std::stoi(context.axis(kPartitions));
  if (!has_partitioned()) throw Unfit("the library has no partitioned messages (MPI 4)");
  if (context.bytes % static_cast<std::size_t>(parts) != 0)
    throw Unfit("partitions are of equal size: sizes are multiples of " + std::to_string(parts));
  const Messages messages = ping_pong_messages(context, 1 - context.group.rank());
  if (const std::string why = why_no_requests(messages.slots); !why.empty()) throw Unfit(why);
  check_memory(context, {.all = Slots::bytes(messages)});
  return std::make_unique<Owning<PartitionedPingPong, Partitioned>>(
      context, messages, [&](const Buffers& buffers) {
        return std::make_unique<Partitioned>(comm_of(context.group), messages, buffers, parts);
      });
}

const Register entry({.info = {.name = "partitioned_latency",
                               .summary = "time of one message one way that is sent in parts: half "
                                          "the round trip of a ping-pong",
                               .metrics = {{"partitioned_latency", "us", "lower"}},
                               .smallest = 1,
                               .axes = {{kPartitions,
                                         {"1", "2", "4", "8", "16", "32", "64"},
                                         "equal parts of a message, for each of which MPI_Pready "
                                         "is called"}},
                               .moves = {.ways = 2}},
                      .make = make});

}  // namespace
}  // namespace nearpeak
