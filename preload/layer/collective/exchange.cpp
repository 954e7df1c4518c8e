// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/exchange.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "layer/protocol/opening.hpp"

namespace nearpeak::layer {
namespace {

// `which`: 0 of its data, 1 of where it receives.
const Own& buffer_of(const Exchange& exchange, std::size_t which) {
  return which == 0 ? exchange.data : exchange.in;
}

// Where others read of a buffer, from its start on.
Span read_part(const Exchange& exchange, std::size_t which) {
  const Own& buffer = buffer_of(exchange, which);
  Span part{0, static_cast<MPI_Aint>(buffer.bytes > 0 ? buffer.bytes : exchange.all_bytes)};
  if (which != 0 || exchange.given.empty()) return part;
  part.high = 0;
  for (const Share& share : exchange.given) {
    if (share.bytes == 0) continue;
    part.low = std::min(part.low, static_cast<MPI_Aint>(share.place));
    part.high = std::max(part.high, static_cast<MPI_Aint>(share.place + share.bytes));
  }
  return part;
}

ShownBuffers& shown_of(Exchange& exchange) {
  if (!exchange.shown) exchange.shown = std::make_shared<ShownBuffers>();
  return *exchange.shown;
}

// What others cannot open is shown as a copy, which is read, or written in its place.
std::optional<Shown> show_copy(const Circle& circle, Exchange& exchange, std::size_t which,
                               const Span& part) {
  const Own& buffer = buffer_of(exchange, which);
  Scratch& copy = shown_of(exchange).copies.at(which);
  copy = which == 0 ? world.devices.copied(buffer.place, buffer.data() + part.low, part.bytes())
                    : world.devices.scratch(buffer.place.device, part.bytes());
  return copy ? show_to(circle.ranks, copy.place(), copy.data(), part.bytes()) : std::nullopt;
}

bool show(Circle& circle, std::uint64_t number, Exchange& exchange, std::size_t which) {
  const Own& buffer = buffer_of(exchange, which);
  Offer::Memory& memory = which == 0 ? exchange.offer.data : exchange.offer.in;
  if (!buffer.shown) return true;
  std::uint64_t& in_lane = circle.shown[CollectiveSync::lane_of(number)][which];
  if (buffer.place.shareable && in_lane == buffer.place.allocation) {
    memory.allocation = buffer.place.allocation;
    memory.offset = static_cast<std::uint64_t>(static_cast<const char*>(buffer.at) -
                                               static_cast<const char*>(buffer.place.base));
    return true;
  }
  const Span part = read_part(exchange, which);
  auto shown = show_to(circle.ranks, buffer.place, buffer.data() + part.low, part.bytes());
  if (!shown) shown = show_copy(circle, exchange, which, part);
  if (!shown) return false;
  memory.allocation = shown->allocation;
  memory.offset = shown->offset - static_cast<std::uint64_t>(part.low);
  // Nobody looks at it between two collectives.
  circle.sync.lane(number).handles[which] = shown->exported;
  in_lane = shown->exported.chunks == 0 ? shown->allocation : 0;
  if (shown->kept) shown_of(exchange).kept.at(which) = std::move(shown->kept);
  return true;
}

bool is_here(Own& buffer, const Exchange& exchange) {
  if (buffer.at == nullptr) return !buffer.found.on_device;  // else it is MPI_BOTTOM
  if (!buffer.found.on_device) return false;
  buffer.place = world.devices.locate(buffer.found);
  accept_envelopes(buffer.place.device);
  if (!world.accepts_envelopes.load() || buffer.place.device != world.home) return false;
  if (!exchange.reduction) return true;
  if (reinterpret_cast<std::uintptr_t>(buffer.at) % exchange.reduction->bytes != 0) return false;
  return !exchange.reduces ||
         world.devices.reduces(buffer.place, *exchange.reduction, exchange.all_bytes);
}

}  // namespace

bool is_ready(Circle& circle, std::uint64_t number, Exchange& exchange) {
  if (exchange.all_bytes < world.settings.direct_bytes) return false;
  if (!is_here(exchange.data, exchange) || !is_here(exchange.in, exchange)) return false;
  if (exchange.reduction) {
    exchange.offer.kind = static_cast<std::uint8_t>(exchange.reduction->kind);
    exchange.offer.bytes_of_number = static_cast<std::uint8_t>(exchange.reduction->bytes);
    exchange.offer.operation = static_cast<std::uint8_t>(exchange.reduction->operation);
  }
  Lane& lane = circle.sync.lane(number);
  for (std::size_t i = 0; i < exchange.given.size(); ++i) lane.places[i] = exchange.given[i].place;
  exchange.shown.reset();
  return show(circle, number, exchange, 0) && show(circle, number, exchange, 1);
}

// The result goes where it is wanted, if it was written into a copy.
void end_exchange(Exchange& exchange, bool done) {
  const std::shared_ptr<ShownBuffers> shown = std::exchange(exchange.shown, nullptr);
  if (!done) return;
  ++world.counts.direct_collectives;
  if (!shown || (!shown->copies[0] && !shown->copies[1])) return;
  ++world.counts.copied_collectives;
  if (const Scratch& copy = shown->copies[1])
    world.devices.copy_between_devices(exchange.in.place, exchange.in.data(), copy.place(),
                                       copy.data(), read_part(exchange, 1).bytes());
}

void say_reach(Circle& circle) {
  if (circle.said_reach) return;
  circle.said_reach = true;
  circle.sync.say_reach(std::all_of(circle.ranks.begin(), circle.ranks.end(),
                                    [](int rank) { return rank == world.rank || opens(rank); }));
}

bool all_reach(Circle& circle) {
  if (circle.agreed) return true;
  const bool all_accept = std::all_of(circle.ranks.begin(), circle.ranks.end(), [](int rank) {
    return area_of(rank).header().accepts_envelopes.load(std::memory_order_acquire) != 0;
  });
  if (!all_accept) return false;
  say_reach(circle);
  circle.agreed = true;
  for (std::size_t i = 0; i < circle.sync.size(); ++i) {
    circle.never = circle.never || circle.sync.reach(i) == Seat::kNo;
    circle.agreed = circle.agreed && circle.sync.reach(i) == Seat::kYes;
  }
  return circle.agreed;
}

bool all_fit(const std::vector<Offer>& all) {
  return std::all_of(all.begin(), all.end(), [&](const Offer& each) { return each.fits(all[0]); });
}

}  // namespace nearpeak::layer
