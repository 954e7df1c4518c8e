// SPDX-License-Identifier: Apache-2.0
// A window of messages both ways at once. An iteration is one window each way and an empty
// exchange, after which each rank knows that the other has everything.
#include "pt2pt/over.hpp"
#include "pt2pt/windows.hpp"

namespace nearpeak {
namespace {

template <class T>
class BidirectionalBandwidth final : public PairCase<T> {
  using Base = PairCase<T>;
  using Base::bytes, Base::next_window, Base::outgoing, Base::slot, Base::transport;

 public:
  BidirectionalBandwidth(const CaseContext& context, const Messages& messages,
                         const Buffers& buffers, T& over)
      : Base(context, messages, buffers, over), blocking_(calls_are(context, kBlocking)) {}

  static Messages wanted(const CaseContext& context) {
    return both_ways_messages(context, context.window);
  }

  void run(std::uint64_t n) override {
    T& by = transport();
    const std::uint64_t window = this->messages().window;
    for (std::uint64_t i = 0; i < n; ++i) {
      if (blocking_) {
        for (std::uint64_t m = 0; m < window; ++m) by.exchange(outgoing(m, bytes()), bytes());
      } else {
        for (std::uint64_t m = 0; m < window; ++m) by.begin_receive(slot(m), bytes());
        for (std::uint64_t m = 0; m < window; ++m) by.begin_send(outgoing(m, bytes()), bytes());
        by.finish();
      }
      by.exchange(slot(0), 0);
      next_window();
    }
  }

  std::vector<double> values(const Times& times) const override {
    return {this->rate(times.us, 2 * this->messages().window)};
  }

 private:
  const bool blocking_;
};

const Register entry(OverTransport<BidirectionalBandwidth>::benchmark({
    .name = "bibw",
    .summary = "bandwidth of both directions together: a window of messages each way at once",
    .metrics = {{"bibw", "GB/s", "higher"}},
    .smallest = 1,
    .axes = {calls_axis("MPI_Sendrecv")},
    .moves = {.ways = 2, .window = true},
    .usual = true,
}));

}  // namespace
}  // namespace nearpeak
