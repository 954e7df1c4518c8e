// SPDX-License-Identifier: Apache-2.0
#include "rma/transfer.hpp"

namespace nearpeak {
namespace {

Role role_of(const CaseContext& context, Flow flow) {
  if (flow == Flow::kBothWays) return {.origin = true, .target = true};
  return {.origin = context.group.leads(), .target = !context.group.leads()};
}

}  // namespace

Messages transfer_messages(const CaseContext& context, bool fetches, Flow flow) {
  if (fetches && context.axis(kTouch) == "sender")
    throw Unfit("the rank whose memory is read takes no part: leave out --touch sender");
  const bool both = flow == Flow::kBothWays;
  return pair_messages(context, 1 - context.group.rank(),
                       flow == Flow::kLatency ? 1 : context.window, both || !fetches,
                       both || fetches);
}

TransferBuffers::TransferBuffers(const CaseContext& context, const Messages& messages, bool fetches,
                                 Flow flow)
    : window(context, messages.bytes, messages.slots, role_of(context, flow),
             SlotBuffer::stride(messages.bytes) * messages.slots) {
  on_every_rank(context.group, [&] {
    local = std::make_unique<SlotBuffer>(context.memory, messages.bytes, messages.slots,
                                         context.offset);
    both(fetches).out.fill({payload_seed(messages.rank, messages.bytes)});
  });
}

Benchmark transfer_benchmark(BenchmarkInfo info, bool fetches, Flow flow,
                             std::function<std::unique_ptr<Case>(const CaseContext&)> make) {
  if (flow == Flow::kLatency) {
    info.metrics = {{info.name, "us", "lower"}};
    info.bound_by = "latency";
  } else {
    info.metrics = {{info.name, "GB/s", "higher"}};
    info.bound_by = flow == Flow::kBothWays ? "bibw" : "bw";
  }
  info.one_sided = fetches ? OneSided::kGet : OneSided::kPut;
  info.smallest = 1;
  info.axes = window_axes();
  info.symmetric = flow == Flow::kBothWays;
  info.moves = {.ways = flow == Flow::kBothWays ? 2 : 1, .window = flow != Flow::kLatency};
  return {.info = std::move(info), .make = std::move(make)};
}

}  // namespace nearpeak
