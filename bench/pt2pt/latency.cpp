// SPDX-License-Identifier: Apache-2.0
// Ping-pong between two ranks. An iteration is one round trip.
#include "pt2pt/over.hpp"
#include "pt2pt/ping_pong.hpp"

namespace nearpeak {
namespace {

template <class T>
class Latency final : public PingPong<T> {
 public:
  Latency(const CaseContext& context, const Messages& messages, const Buffers& buffers, T& over)
      : PingPong<T>(context, messages, buffers, over),
        one_way_(context.axis("direction") != "both"),
        phases_(one_way_ ? Names{"payload", "empty"} : Names{}) {}

  static Messages wanted(const CaseContext& context) {
    const std::string& direction = context.axis("direction");
    return ping_pong_messages(context, 1 - context.group.rank(), direction != "1to0",
                              direction != "0to1");
  }

  void run(std::uint64_t n) override {
    if (!one_way_) return PingPong<T>::run(n);
    // The payload goes one way and the reply is empty; empty round trips tell what that costs.
    phases_.clear();
    phases_.start();
    PingPong<T>::run(n);
    phases_.lap(kPayload);
    this->round_trips(n, 0, 0, false);
    phases_.lap(kEmpty);
  }

  std::vector<double> values(const Times& times) const override {
    if (!one_way_) return {times.us / 2};
    // The empty way's share of a typical round trip is taken off every one: half an empty round
    // trip.
    const double payload = times.typical_phases_us[kPayload];
    const double share = (payload - times.typical_phases_us[kEmpty] / 2) / payload;
    return {times.phases_us[kPayload] * share};
  }
  const Phases& phases() const override { return phases_; }

 private:
  enum Phase : std::size_t { kPayload, kEmpty };
  using Names = std::vector<std::string>;

  const bool one_way_;
  Phases phases_;
};

const Register entry(OverTransport<Latency>::benchmark({
    .name = "latency",
    .summary = "time of one message one way: half the round trip of a ping-pong",
    .metrics = {{"latency", "us", "lower"}},
    .axes = {ping_pong_calls(),
             {"direction",
              {"both", "0to1", "1to0"},
              "both: the payload goes there and back; 0to1, 1to0: the payload goes one way and the "
              "reply is empty"}},
    .moves = {.ways = 2},
    .usual = true,
}));

}  // namespace
}  // namespace nearpeak
