// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/exchange.hpp"

#include <algorithm>

#include "layer/protocol/opening.hpp"

namespace nearpeak::layer {
namespace {

bool show(Circle& circle, std::uint64_t number, const Own& buffer, std::size_t which,
          Offer::Memory& memory) {
  if (!buffer.shown) return true;
  if (!buffer.place.shareable) return false;
  memory.allocation = buffer.place.allocation;
  memory.offset = static_cast<std::uint64_t>(static_cast<const char*>(buffer.at) -
                                             static_cast<const char*>(buffer.place.base));
  // Nobody looks at it between two collectives.
  std::uint64_t& shown = circle.shown[CollectiveSync::lane_of(number)][which];
  if (shown != memory.allocation)
    circle.sync.lane(number).handles[which] = world.devices.handle_of(buffer.place);
  shown = memory.allocation;
  return true;
}

bool is_here(Own& buffer, const Exchange& exchange) {
  if (buffer.at == nullptr) return true;
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
  return show(circle, number, exchange.data, 0, exchange.offer.data) &&
         show(circle, number, exchange.in, 1, exchange.offer.in);
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
