// SPDX-License-Identifier: Apache-2.0
// A window of messages both ways at once. An iteration is one window each way and an empty
// exchange, after which each rank knows that the other has everything.
#include "pt2pt/staging.hpp"
#include "pt2pt/window.hpp"

namespace nearpeak {
namespace {

template <class Road>
class BidirectionalBandwidth final : public WindowCase {
 public:
  explicit BidirectionalBandwidth(const CaseContext& context)
      : WindowCase(context, true, true),
        blocking_(context.axes.at("calls") == "blocking"),
        road_(context, context.window, context.window) {}

  void iterate(std::uint64_t n) override {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (blocking_)
        blocking_window();
      else
        nonblocking_window();
      MPI_Sendrecv(nullptr, 0, MPI_BYTE, peer(), kAckTag, nullptr, 0, MPI_BYTE, peer(), kAckTag,
                   context_.comm, MPI_STATUS_IGNORE);
      next_window();
    }
  }

  double value(double us) const override { return rate(us, 2 * context_.window); }

 private:
  void nonblocking_window() {
    const std::uint64_t window = context_.window;
    for (std::uint64_t m = 0; m < window; ++m) road_.begin_receive(in(m), bytes());
    for (std::uint64_t m = 0; m < window; ++m) road_.begin_send(out(m), bytes());
    road_.finish();
  }

  void blocking_window() {
    for (std::uint64_t m = 0; m < context_.window; ++m) road_.exchange(out(m), in(m), bytes());
  }

  bool blocking_;
  Road road_;
};

const Register entry(
    {"bibw",
     "bandwidth of both directions together: a window of messages each way at once",
     "bibw",
     "GB/s",
     "higher",
     2,
     1,
     {{"calls",
       {"nonblocking", "blocking"},
       "MPI_Isend, MPI_Irecv and MPI_Waitall, or MPI_Sendrecv one by one"},
      reuse_axis(),
      staging_axis()},
     true,
     {"isend", "sendrecv"}},
    on_road<BidirectionalBandwidth>);

}  // namespace
}  // namespace nearpeak
