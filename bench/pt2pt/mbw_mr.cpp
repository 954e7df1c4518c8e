// SPDX-License-Identifier: Apache-2.0
// Several pairs of ranks at once, each a window of messages one way: rank i of the first half sends
// to rank i of the second. Many windows follow each other behind a barrier, and the time is the
// mean over the ranks.
#include "pt2pt/over.hpp"
#include "pt2pt/windows.hpp"

namespace nearpeak {
namespace {

template <class T>
class MultiplePairs final : public OneWay<T> {
 public:
  MultiplePairs(const CaseContext& context, const Messages& messages, const Buffers& buffers,
                T& over)
      : OneWay<T>(context, messages, buffers, over),
        windows_(times_by_many(context, context.bytes * messages.window)) {}

  static Messages wanted(const CaseContext& context) {
    const int pairs = context.group.size() / 2;
    const int rank = context.group.rank();
    return one_way_messages(context, rank < pairs ? rank + pairs : rank - pairs);
  }

  void run(std::uint64_t n) override { this->run_windows(n * windows_); }
  void first_use() override { this->run_windows(1); }
  std::uint64_t operations() const override { return windows_; }
  std::vector<double> values(const Times& times) const override {
    const std::uint64_t pairs = static_cast<std::uint64_t>(this->context().group.size()) / 2;
    const std::uint64_t all = pairs * this->messages().window;
    return {this->rate(times.us, all), static_cast<double>(all) / times.us};
  }

 private:
  const std::uint64_t windows_;  // in an iteration
};

const Register entry(OverTransport<MultiplePairs>::benchmark({
    .name = "mbw_mr",
    .summary = "bandwidth and message rate of all pairs of ranks together, each one way",
    .metrics = {{"mbw", "GB/s", "higher"}, {"mr", "M/s", "higher"}},
    .ranks = {.kind = RankRule::Kind::kEven, .count = 2},
    .smallest = 1,
    .axes = {calls_axis("MPI_Send and MPI_Recv")},
    .symmetric = false,
    .moves = {.window = true},
    .sync = Sync::kBarrier,
    .reduce = Reduce::kMean,
}));

}  // namespace
}  // namespace nearpeak
