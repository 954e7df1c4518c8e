// SPDX-License-Identifier: Apache-2.0
// Ping-pongs of several pairs of ranks at once: rank i of the first half with rank i of the second.
// Many round trips follow each other behind a barrier, and the time is the mean over the ranks.
#include "pt2pt/over.hpp"
#include "pt2pt/ping_pong.hpp"

namespace nearpeak {
namespace {

template <class T>
class MultipleLatencies final : public PingPong<T> {
 public:
  MultipleLatencies(const CaseContext& context, const Messages& messages, const Buffers& buffers,
                    T& over)
      : PingPong<T>(context, messages, buffers, over),
        trips_(times_by_many(context, context.bytes)) {}

  static Messages wanted(const CaseContext& context) {
    const int pairs = context.group.size() / 2;
    const int rank = context.group.rank();
    return ping_pong_messages(context, rank < pairs ? rank + pairs : rank - pairs);
  }

  void run(std::uint64_t n) override { PingPong<T>::run(n * trips_); }
  void first_use() override { PingPong<T>::run(1); }
  std::uint64_t operations() const override { return trips_; }
  std::vector<double> values(const Times& times) const override { return {times.us / 2}; }

 private:
  const std::uint64_t trips_;  // in an iteration
};

const Register entry(OverTransport<MultipleLatencies>::benchmark({
    .name = "multi_lat",
    .summary = "time of one message one way while all pairs of ranks have a ping-pong each",
    .metrics = {{"multi_lat", "us", "lower"}},
    .ranks = {.kind = RankRule::Kind::kEven, .count = 2},
    .axes = {ping_pong_calls()},
    .moves = {.ways = 2},
    .sync = Sync::kBarrier,
    .reduce = Reduce::kMean,
}));

}  // namespace
}  // namespace nearpeak
