// SPDX-License-Identifier: Apache-2.0
// Windows of messages between rank 0 and every other rank at once, all in one direction. An
// iteration is a window of each of them, and an empty message back.
#include "benchmark/check_memory.hpp"
#include "mpi/methods.hpp"
#include "mpi/pt2pt/lanes.hpp"
#include "pt2pt/windows.hpp"
#include "transport/mpi/persistent.hpp"

namespace nearpeak {
namespace {

constexpr int kRoot = 0;

enum class Fan { kIn, kOut };  // to rank 0, or from it

// One rank and the root, seen from either.
class FanLane : public PairCase<Transport> {
 public:
  using PairCase<Transport>::PairCase;

  void run(std::uint64_t) override {}  // the lanes of a rank move together
  std::vector<double> values(const Times&) const override { return {}; }

  void begin(std::uint64_t message) {
    if (messages().sends)
      transport().begin_send(outgoing(message, bytes()), bytes());
    else
      transport().begin_receive(slot(message), bytes());
  }
  void move(std::uint64_t message) {
    if (messages().sends)
      transport().send(outgoing(message, bytes()), bytes());
    else
      transport().receive(slot(message), bytes());
  }
  void finish() { transport().finish(); }
  // An empty message back, after a window.
  void reply() {
    if (messages().sends)
      transport().receive(slot(0), 0);
    else
      transport().send(slot(0), 0);
    next_window();
  }
};

Messages lane_messages(const CaseContext& context, Fan fan, int peer) {
  return pair_messages(context, peer, context.window, fan == Fan::kOut, fan == Fan::kIn);
}

class FanCase final : public Lanes<FanLane> {
 public:
  FanCase(const CaseContext& context, Fan fan)
      : Lanes(slots_for(context, context.window)),
        bytes_(context.bytes),
        window_(context.window),
        others_(static_cast<std::uint64_t>(context.group.size()) - 1),
        blocking_(calls_are(context, kBlocking)) {
    const int rank = context.group.rank();
    if (rank != kRoot) {
      add_lane(context, fan, kRoot, rank);
    } else {
      for (int peer = 1; peer < context.group.size(); ++peer) add_lane(context, fan, peer, peer);
    }
  }

  void run(std::uint64_t n) override {
    for (std::uint64_t i = 0; i < n; ++i) {
      for (std::uint64_t m = 0; m < window_; ++m)
        for (const auto& lane : lanes()) blocking_ ? lane->move(m) : lane->begin(m);
      if (!blocking_)
        for (const auto& lane : lanes()) lane->finish();
      for (const auto& lane : lanes()) lane->reply();
    }
  }
  std::vector<double> values(const Times& times) const override {
    const double rate = static_cast<double>(others_ * window_) / times.us;
    return {static_cast<double>(bytes_) * rate / 1e3, rate};
  }

 private:
  void add_lane(const CaseContext& context, Fan fan, int peer, int lane) {
    const Messages messages = lane_messages(context, fan, peer);
    add(std::make_unique<Owning<FanLane, Transport>>(
        context, in_lane(messages, lane),
        [&](const Buffers& buffers) { return unstaged(context, messages, buffers); }));
  }

  const std::size_t bytes_;
  const std::uint64_t window_;
  const std::uint64_t others_;
  const bool blocking_;
};

// Throws Unfit on all ranks where one cannot have the case.
std::unique_ptr<Case> make(const CaseContext& context, Fan fan) {
  const Messages messages = lane_messages(context, fan, kRoot);
  const int size = context.group.size();
  const std::size_t lanes = context.group.rank() == kRoot ? size - 1 : 1;
  check_memory(context, {.all = lanes * Slots::bytes(messages)});
  if (calls_are(context, kPersistent)) {
    Messages all = messages;
    all.slots *= static_cast<std::uint64_t>(size) - 1;
    if (const std::string why = why_no_requests(all.slots); !why.empty()) throw Unfit(why);
  }
  return std::make_unique<FanCase>(context, fan);
}

Benchmark fan_benchmark(Fan fan, const std::string& name, const std::string& rate,
                        const std::string& ways) {
  return {.info = {.name = name,
                   .summary = "bandwidth and message rate " + ways + " every other rank at once",
                   .metrics = {{name, "GB/s", "higher"}, {rate, "M/s", "higher"}},
                   .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 2},
                   .smallest = 1,
                   .axes = {calls_axis("MPI_Send and MPI_Recv")},
                   .symmetric = false,
                   .moves = {.window = true}},
          .make = [fan](const CaseContext& context) { return make(context, fan); }};
}

const Register entry({fan_benchmark(Fan::kIn, "bw_fan_in", "mr_fan_in",
                                    "into rank 0: a window of messages from"),
                      fan_benchmark(Fan::kOut, "bw_fan_out", "mr_fan_out",
                                    "out of rank 0: a window of messages to")});

}  // namespace
}  // namespace nearpeak
