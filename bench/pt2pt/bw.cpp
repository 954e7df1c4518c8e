// SPDX-License-Identifier: Apache-2.0
// A window of messages one way. An iteration is one window and its empty reply.
#include "pt2pt/staging.hpp"
#include "pt2pt/window.hpp"

namespace nearpeak {
namespace {

template <class Road>
class Bandwidth final : public WindowCase {
 public:
  explicit Bandwidth(const CaseContext& context)
      : WindowCase(context, context.rank == 0, context.rank == 1),
        blocking_(context.axes.at("calls") == "blocking"),
        road_(context, context.rank == 0 ? context.window : 0,
              context.rank == 1 ? context.window : 0) {}

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
        road_.send(out(m), bytes());
      else
        road_.begin_send(out(m), bytes());
    }
    if (!blocking_) road_.finish();
  }

  void receive_window() {
    for (std::uint64_t m = 0; m < context_.window; ++m) {
      if (blocking_)
        road_.receive(in(m), bytes());
      else
        road_.begin_receive(in(m), bytes());
    }
    if (!blocking_) road_.finish();
  }

  bool blocking_;
  Road road_;
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
      reuse_axis(),
      staging_axis()},
     false,
     {"isend", "send"}},
    on_road<Bandwidth>);

}  // namespace
}  // namespace nearpeak
