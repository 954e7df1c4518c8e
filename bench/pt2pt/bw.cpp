// SPDX-License-Identifier: Apache-2.0
// A window of messages one way. An iteration is one window and its empty reply.
#include "pt2pt/window.hpp"

namespace nearpeak {
namespace {

class Bandwidth final : public WindowCase {
 public:
  explicit Bandwidth(const CaseContext& context)
      : WindowCase(context, context.rank == 0, context.rank == 1),
        blocking_(context.axes.at("calls") == "blocking"),
        requests_(context.window) {}

  void iterate(std::uint64_t n) override {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (context_.rank == 0) {
        send_window();
        MPI_Recv(nullptr, 0, MPI_BYTE, 1, kAckTag, context_.comm, MPI_STATUS_IGNORE);
      } else {
        receive_window();
        MPI_Send(nullptr, 0, MPI_BYTE, 0, kAckTag, context_.comm);
      }
      next_window();
    }
  }

  double value(double us) const override { return rate(us, context_.window); }

 private:
  void send_window() {
    for (std::uint64_t m = 0; m < context_.window; ++m) {
      if (blocking_)
        MPI_Send(out(m), bytes(), MPI_BYTE, 1, kTag, context_.comm);
      else
        MPI_Isend(out(m), bytes(), MPI_BYTE, 1, kTag, context_.comm, &requests_[m]);
    }
    wait();
  }

  void receive_window() {
    for (std::uint64_t m = 0; m < context_.window; ++m) {
      if (blocking_)
        MPI_Recv(in(m), bytes(), MPI_BYTE, 0, kTag, context_.comm, MPI_STATUS_IGNORE);
      else
        MPI_Irecv(in(m), bytes(), MPI_BYTE, 0, kTag, context_.comm, &requests_[m]);
    }
    wait();
  }

  void wait() {
    if (!blocking_)
      MPI_Waitall(static_cast<int>(context_.window), requests_.data(), MPI_STATUSES_IGNORE);
  }

  bool blocking_;
  std::vector<MPI_Request> requests_;
};

const Register entry(
    {"bw",
     "bandwidth one way: a window of messages from rank 0 to rank 1, then an empty reply",
     "bw",
     "GB/s",
     "higher",
     2,
     1,
     {{"calls",
       {"nonblocking", "blocking"},
       "MPI_Isend, MPI_Irecv and MPI_Waitall, or MPI_Send and MPI_Recv"},
      reuse_axis()}},
    [](const CaseContext& context) -> std::unique_ptr<Case> {
      return std::make_unique<Bandwidth>(context);
    });

}  // namespace
}  // namespace nearpeak
