// SPDX-License-Identifier: Apache-2.0
// Ping-pong between two ranks. An iteration is one round trip.
#include "pt2pt/staging.hpp"

namespace nearpeak {
namespace {

template <class Road>
class Latency final : public Case {
 public:
  explicit Latency(const CaseContext& context)
      : Case(context),
        slots_(context.rotating() ? rotating_windows(context.size_bytes, 1, context.cache_bytes)
                                  : 1),
        blocking_(context.axes.at("calls") == "blocking"),
        direction_(context.axes.at("direction")),
        there_(direction_ == "1to0" ? 0 : static_cast<int>(context.size_bytes)),
        back_(direction_ == "0to1" ? 0 : static_cast<int>(context.size_bytes)),
        out_(context.memory, context.size_bytes, slots_, context.offset),
        in_(context.memory, context.size_bytes, slots_, context.offset),
        road_(context, 1, 1) {
    out_.fill_pattern(context.seed(context.rank));
    in_.fill_inverse(context.seed(peer()));
  }

  void iterate(std::uint64_t n) override { exchange(n, there_, back_); }

  double value(double us) const override {
    return direction_ == "both" ? us / 2 : us - empty_us_.value_or(0);
  }

  std::uint64_t cycle() const override { return slots_; }

  // One direction alone: the payload goes one way, the reply is empty, and the empty way's time,
  // half an empty round trip of this launch, is taken off.
  void calibrate(Sampler& sampler, const SamplingPolicy& policy) override {
    if (direction_ == "both") return;
    const auto empty = sampler.measure(policy, [this](std::uint64_t n) { exchange(n, 0, 0); });
    if (!empty.samples_us.empty()) empty_us_ = median(empty.samples_us) / 2;
  }

  std::optional<double> subtracted_us() const override { return empty_us_; }

  std::optional<Mismatch> verify() override {
    in_.fill_inverse(context_.seed(peer()));
    next_ = 0;
    iterate(slots_);
    const bool received = context_.rank == 0 ? back_ > 0 : there_ > 0;
    return received ? in_.find_mismatch(context_.seed(peer())) : std::nullopt;
  }

 private:
  int peer() const { return 1 - context_.rank; }

  void exchange(std::uint64_t n, int there, int back) {
    const int to_send = context_.rank == 0 ? there : back;
    const int to_receive = context_.rank == 0 ? back : there;
    for (std::uint64_t i = 0; i < n; ++i) {
      char* out = out_.slot(next_);
      char* in = in_.slot(next_);
      if (++next_ == slots_) next_ = 0;
      if (blocking_ && context_.rank == 0) {
        road_.send(out, to_send);
        road_.receive(in, to_receive);
      } else if (blocking_) {
        road_.receive(in, to_receive);
        road_.send(out, to_send);
      } else if (context_.rank == 0) {
        road_.begin_receive(in, to_receive);
        road_.begin_send(out, to_send);
        road_.finish();
      } else {
        road_.begin_receive(in, to_receive);
        road_.finish_one();
        road_.begin_send(out, to_send);
        road_.finish_one();
      }
    }
  }

  std::size_t slots_;
  bool blocking_;
  std::string direction_;
  int there_;
  int back_;
  SlotBuffer out_;
  SlotBuffer in_;
  Road road_;
  std::size_t next_ = 0;
  std::optional<double> empty_us_;
};

const Register entry(
    {"latency",
     "time of one message one way: half the round trip of a ping-pong",
     "latency",
     "us",
     "lower",
     2,
     0,
     {{"calls",
       {"blocking", "nonblocking"},
       "MPI_Send and MPI_Recv, or MPI_Isend, MPI_Irecv and a wait"},
      {"direction",
       {"both", "0to1", "1to0"},
       "both: the payload goes there and back; 0to1, 1to0: the payload goes one way and the reply "
       "is empty"},
      reuse_axis(),
      staging_axis()},
     true,
     {"send", "isend"}},
    on_road<Latency>);

}  // namespace
}  // namespace nearpeak
