// SPDX-License-Identifier: Apache-2.0
#include "layer/opening.hpp"

#include <atomic>
#include <cstdint>
#include <exception>

namespace nearpeak::layer {

void give_trial(int device) {
  try {
    world.trial = world.devices.scratch(device, 1);
    if (world.trial)
      world.area().header().trial = world.devices.handle_of(world.trial.place()).handle;
  } catch (const std::exception&) {
    // Who does not see the device does not open its memory, then.
  }
}

void look_at_others() {
  static std::uint32_t seen = 0;
  const std::uint32_t company = world.area().header().company.load(std::memory_order_acquire);
  if (company == seen) return;
  seen = company;
  each_other([](int rank, const Area& area) {
    if (area.header().able.load(std::memory_order_acquire) != 0) opens(rank);
  });
}

bool opens(int rank) {
  const Area::Opens said = world.area().opens(rank);
  if (said != Area::Opens::kUnknown) return said == Area::Opens::kYes;
  const Header& header = area_of(rank).header();
  const bool so = world.devices.opens(world.home, header.uuid.data(), header.trial);
  world.area().say_opens(rank, so);
  return so;
}

bool is_opened_by(int rank, const Located& place) {
  const Area& area = area_of(rank);
  const Area::Opens said = area.opens(world.rank);
  if (said != Area::Opens::kUnknown && place.device == world.home) return said == Area::Opens::kYes;
  return world.devices.reached_by(place.device, area.header().uuid.data());
}

}  // namespace nearpeak::layer
