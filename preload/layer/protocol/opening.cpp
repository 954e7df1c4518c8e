// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/opening.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>

#include "layer/copy/process_file.hpp"
#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

bool opens(int rank) {
  const Area::Opens said = world.area().opens(rank);
  if (said != Area::Opens::kUnknown) return said != Area::Opens::kNo;
  const Header& header = area_of(rank).header();
  const bool so = world.devices.opens(world.home, header.uuid.data(), header.trial);
  using Opens = Area::Opens;
  world.area().say_opens(rank, !so ? Opens::kNo : takes_files_of(rank) ? Opens::kAll : Opens::kYes);
  return so;
}

bool takes_files_of(int rank) {
  const ProcessFile tried(world.processes[static_cast<std::size_t>(rank)],
                          area_of(rank).header().file);
  return static_cast<bool>(tried);
}

void give_trial(int device) {
  try {
    world.trial = world.devices.scratch(device, 1);
    if (world.trial)
      world.area().header().trial = world.devices.handle_of(world.trial.place()).handle;
  } catch (const std::exception&) {
    // Who does not see the device does not open its memory, then.
  }
}

namespace {

// Says of all ranks that have begun to accept envelopes whether this one, which does, opens memory
// of the device that they use.
void look_at_others() {
  static std::uint32_t seen = 0;
  const std::uint32_t company = world.area().header().company.load(std::memory_order_acquire);
  if (company == seen) return;
  seen = company;
  each_other([](int rank, const Area& area) {
    if (area.header().accepts_envelopes.load(std::memory_order_acquire) != 0) opens(rank);
  });
}

}  // namespace

void accept_envelopes(int device) {
  if (world.accepts_envelopes.load(std::memory_order_relaxed)) return look_at_others();
  if (!world.mapped || has_unchecked_receives()) return;
  world.home = device;
  Header& header = world.area().header();
  const std::string& uuid = world.devices.uuid(device);
  std::copy_n(uuid.begin(), std::min(uuid.size(), header.uuid.size() - 1), header.uuid.begin());
  const bool serves = world.settings.copy_proxy && !world.devices.runs_several(device);
  header.serves.store(serves ? 1 : 0, std::memory_order_relaxed);
  give_trial(device);
  world.accepts_envelopes.store(true);
  header.accepts_envelopes.store(1, std::memory_order_release);
  for (const auto& area : world.areas)
    if (area && area.get() != &world.area())
      area->header().company.fetch_add(1, std::memory_order_release);
  look_at_others();
}

bool is_opened_by(int rank, const Located& place) {
  const Area& area = area_of(rank);
  const Area::Opens said = area.opens(world.rank);
  if (said != Area::Opens::kUnknown && place.device == world.home) return said != Area::Opens::kNo;
  return world.devices.reached_by(place.device, area.header().uuid.data());
}

namespace {

// Whether that rank takes file descriptors of this one, as far as it has said.
bool takes_own_files(int rank) { return area_of(rank).opens(world.rank) == Area::Opens::kAll; }

}  // namespace

std::optional<Shown> show_to(int rank, const Located& place, const void* data, std::size_t bytes) {
  if (!place.shareable && !takes_own_files(rank)) return std::nullopt;
  return world.devices.show(place, data, bytes);
}

std::optional<Shown> show_to(const std::vector<int>& ranks, const Located& place, const void* data,
                             std::size_t bytes) {
  const auto takes = [](int rank) { return rank == world.rank || takes_own_files(rank); };
  if (!place.shareable && !std::all_of(ranks.begin(), ranks.end(), takes)) return std::nullopt;
  return world.devices.show(place, data, bytes);
}

}  // namespace nearpeak::layer
