// SPDX-License-Identifier: Apache-2.0
// A window of messages both ways at once. An iteration is one window each way and an empty
// exchange, after which each rank knows that the other has everything.
#include "pt2pt/window.hpp"

namespace nearpeak {
namespace {

class BidirectionalBandwidth final : public WindowCase {
 public:
  explicit BidirectionalBandwidth(const CaseContext& context)
      : WindowCase(context, true, true),
        blocking_(context.axes.at("calls") == "blocking"),
        requests_(2 * context.window) {}

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
    for (std::uint64_t m = 0; m < window; ++m)
      MPI_Irecv(in(m), bytes(), MPI_BYTE, peer(), kTag, context_.comm, &requests_[m]);
    for (std::uint64_t m = 0; m < window; ++m)
      MPI_Isend(out(m), bytes(), MPI_BYTE, peer(), kTag, context_.comm, &requests_[window + m]);
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  void blocking_window() {
    for (std::uint64_t m = 0; m < context_.window; ++m)
      MPI_Sendrecv(out(m), bytes(), MPI_BYTE, peer(), kTag, in(m), bytes(), MPI_BYTE, peer(), kTag,
                   context_.comm, MPI_STATUS_IGNORE);
  }

  bool blocking_;
  std::vector<MPI_Request> requests_;
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
      reuse_axis()}},
    [](const CaseContext& context) -> std::unique_ptr<Case> {
      return std::make_unique<BidirectionalBandwidth>(context);
    });

}  // namespace
}  // namespace nearpeak
