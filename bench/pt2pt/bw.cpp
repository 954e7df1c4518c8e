// SPDX-License-Identifier: Apache-2.0
// A window of messages one way. An iteration is one window and its empty reply.
#include "pt2pt/over.hpp"
#include "pt2pt/windows.hpp"

namespace nearpeak {
namespace {

template <class T>
class Bandwidth final : public OneWay<T> {
 public:
  using OneWay<T>::OneWay;

  static Messages wanted(const CaseContext& context) {
    return one_way_messages(context, 1 - context.group.rank());
  }

  std::vector<double> values(const Times& times) const override {
    return {this->rate(times.us, this->messages().window)};
  }
};

const Register entry(OverTransport<Bandwidth>::benchmark({
    .name = "bw",
    .summary = "bandwidth one way: a window of messages from rank 0 to rank 1, then an empty reply",
    .metrics = {{"bw", "GB/s", "higher"}},
    .smallest = 1,
    .axes = {calls_axis("MPI_Send and MPI_Recv")},
    .symmetric = false,
    .moves = {.window = true},
    .usual = true,
}));

}  // namespace
}  // namespace nearpeak
