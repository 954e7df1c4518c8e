// SPDX-License-Identifier: Apache-2.0
// Ping-pong between two ranks. An iteration is one round trip.
#include "pt2pt/pair_case.hpp"
#include "transport/over.hpp"

namespace nearpeak {
namespace {

template <class T>
class Latency final : public PairCase<T> {
  using Base = PairCase<T>;
  using Base::bytes, Base::is_first, Base::next_window, Base::outgoing, Base::slot, Base::transport;

 public:
  Latency(const CaseContext& context, const Messages& messages, const Buffers& buffers, T& over)
      : Base(context, messages, buffers, over),
        blocking_(context.axis("calls") == "blocking"),
        one_way_(context.axis("direction") != "both"),
        out_(messages.sends ? messages.bytes : 0),
        in_(messages.receives ? messages.bytes : 0),
        phases_ns_(one_way_ ? 2 : 0) {}

  static Messages wanted(const CaseContext& context) {
    const int rank = context.group.rank();
    const std::string& direction = context.axis("direction");
    const bool filled = context.bytes > 0;
    const bool there = filled && direction != "1to0";
    const bool back = filled && direction != "0to1";
    return {.bytes = context.bytes,
            .window = 1,
            .slots = slots_for(context, 1),
            .sends = rank == 0 ? there : back,
            .receives = rank == 0 ? back : there,
            .rank = rank,
            .peer = 1 - rank};
  }

  void run(std::uint64_t n) override {
    if (!one_way_) return round_trips(n, out_, in_, true);
    // The payload goes one way and the reply is empty; empty round trips tell what that costs.
    const std::int64_t begin = now_ns();
    round_trips(n, out_, in_, true);
    const std::int64_t middle = now_ns();
    round_trips(n, 0, 0, false);
    phases_ns_[0] = static_cast<double>(middle - begin);
    phases_ns_[1] = static_cast<double>(now_ns() - middle);
  }

  std::vector<double> values(const Times& times) const override {
    if (!one_way_) return {times.us / 2};
    // The empty way's share of a typical round trip is taken off every one: half an empty round
    // trip.
    const double payload = times.typical_phases_us[0];
    const double share = (payload - times.typical_phases_us[1] / 2) / payload;
    return {times.phases_us[0] * share};
  }
  std::vector<std::string> phases() const override {
    if (one_way_) return {"payload", "empty"};
    return {};
  }
  const std::vector<double>& phases_ns() const override { return phases_ns_; }

 private:
  // `uses`: a slot each. Empty messages use none.
  void round_trips(std::uint64_t n, std::size_t out, std::size_t in, bool uses) {
    T& by = transport();
    for (std::uint64_t i = 0; i < n; ++i) {
      if (blocking_ && is_first()) {
        by.send(outgoing(0, out), out);
        by.receive(slot(0), in);
      } else if (blocking_) {
        by.receive(slot(0), in);
        by.send(outgoing(0, out), out);
      } else if (is_first()) {
        by.begin_receive(slot(0), in);
        by.begin_send(outgoing(0, out), out);
        by.finish();
      } else {
        by.begin_receive(slot(0), in);
        by.finish();
        by.begin_send(outgoing(0, out), out);
        by.finish();
      }
      if (uses) next_window();
    }
  }

  const bool blocking_;
  const bool one_way_;
  const std::size_t out_;
  const std::size_t in_;
  std::vector<double> phases_ns_;
};

const Register entry(Over<Latency>::benchmark({
    .name = "latency",
    .summary = "time of one message one way: half the round trip of a ping-pong",
    .metrics = {{"latency", "us", "lower"}},
    .axes = {{"calls",
              {"blocking", "nonblocking"},
              "MPI_Send and MPI_Recv, or MPI_Isend, MPI_Irecv and a wait"},
             {"direction",
              {"both", "0to1", "1to0"},
              "both: the payload goes there and back; 0to1, 1to0: the payload goes one way and the "
              "reply is empty"}},
    .moves = {.ways = 2},
    .usual = true,
}));

}  // namespace
}  // namespace nearpeak
