// SPDX-License-Identifier: Apache-2.0
// Several pairs of ranks at once, each a window of messages one way: rank i of the first half sends
// to rank i of the second. The time is that of the slowest pair, behind a barrier.
#include "pt2pt/windows.hpp"
#include "transport/over.hpp"

namespace nearpeak {
namespace {

template <class T>
class MultiplePairs final : public OneWay<T> {
 public:
  using OneWay<T>::OneWay;

  static Messages wanted(const CaseContext& context) {
    const int pairs = context.group.size() / 2;
    const int rank = context.group.rank();
    return one_way_messages(context, rank < pairs ? rank + pairs : rank - pairs);
  }

  std::vector<double> values(const Times& times) const override {
    const std::uint64_t pairs = static_cast<std::uint64_t>(this->context().group.size()) / 2;
    const std::uint64_t all = pairs * this->messages().window;
    return {this->rate(times.us, all), static_cast<double>(all) / times.us};
  }
};

const Register entry(Over<MultiplePairs>::benchmark({
    .name = "mbw_mr",
    .summary = "bandwidth and message rate of all pairs of ranks together, each one way",
    .metrics = {{"mbw", "GB/s", "higher"}, {"mr", "M/s", "higher"}},
    .ranks = {.kind = RankRule::Kind::kEven, .count = 2},
    .smallest = 1,
    .axes = {calls_axis("MPI_Send and MPI_Recv")},
    .symmetric = false,
    .sync = Sync::kBarrier,
    .reduce = Reduce::kMaximum,
}));

}  // namespace
}  // namespace nearpeak
