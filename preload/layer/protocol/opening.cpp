// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/opening.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

namespace {

using Opens = Area::Opens;

Opens in_a_word(const Reach& reach) {
  if (reach.handles) return reach.chunks ? Opens::kAll : Opens::kHandles;
  return reach.chunks ? Opens::kChunks : Opens::kNo;
}

}  // namespace

bool opens(int rank) {
  const Opens said = world.area().opens(rank);
  if (said != Opens::kUnknown) return said != Opens::kNo;
  const Header& header = area_of(rank).header();
  Reach reach;
  if (process_of_rank(rank).has_number()) {
    reach.handles = world.devices.opens(world.home, header.uuid.data(), header.trial);
    reach.chunks = reach.handles && takes_files_of(rank);
  } else {
    reach = tried(world.home, rank);
  }
  world.area().say_opens(rank, in_a_word(reach));
  return reach.handles || reach.chunks;
}

bool takes_files_of(int rank) {
  return static_cast<bool>(process_of_rank(rank).file(area_of(rank).header().file));
}

Reach tried(int device, int rank) {
  const Header& header = area_of(rank).header();
  Devices& devices = world.devices;
  Reach reach;
  reach.handles = devices.opens(device, header.trial, header.key);
  const Exported& chunk = header.trial_chunk;
  if (chunk.chunks > 0)
    reach.chunks = devices.opens(device, static_cast<std::uint32_t>(rank), header.trial_allocation,
                                 chunk, header.key);
  return reach;
}

namespace {

// With the key of this rank; empty where the device has no room.
Scratch new_trial(int device, Devices::Room room) {
  Scratch trial = world.devices.scratch(device, 1, room);
  const Key& key = world.area().header().key;
  if (trial) world.devices.copy_to_device(trial.place(), trial.data(), key.data(), key.size());
  return trial;
}

void give_trial_chunk(int device) {
  world.trial.chunk = new_trial(device, Devices::Room::kChunks);
  const Scratch& chunk = world.trial.chunk;
  if (!chunk) return;
  auto shown = world.devices.show(chunk.place(), chunk.data(), sizeof(Key));
  if (!shown) return;
  Header& header = world.area().header();
  header.trial_allocation = shown->allocation;
  header.trial_chunk = shown->exported;
  world.trial.kept = std::move(shown->kept);
}

}  // namespace

void give_trial(int device) {
  try {
    world.trial.memory = new_trial(device, Devices::Room::kPlain);
    if (world.trial.memory)
      world.area().header().trial = world.devices.handle_of(world.trial.memory.place()).handle;
    if (world.file_server) give_trial_chunk(device);
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
  const Opens said = area.opens(world.rank);
  if (said != Opens::kUnknown && place.device == world.home) return said != Opens::kNo;
  // Who has no number here has to have tried, and what it has tried was of this rank's device.
  const bool may =
      process_of_rank(rank).has_number() || (said != Opens::kUnknown && said != Opens::kNo);
  return may && world.devices.reached_by(place.device, area.header().uuid.data());
}

bool opens_handles_of(int rank) {
  if (rank == world.rank || process_of_rank(rank).has_number()) return true;
  if (!opens(rank)) return false;
  const Opens said = world.area().opens(rank);
  return said == Opens::kHandles || said == Opens::kAll;
}

bool takes_handles_of_this(int rank) { return area_of(rank).opens(world.rank) != Opens::kChunks; }

namespace {

// Whether that rank, which opens memory of the place's device, opens this, as far as it has said.
bool opens_this(int rank, const Located& place) {
  if (place.shareable) return takes_handles_of_this(rank);
  const Opens said = area_of(rank).opens(world.rank);
  return said == Opens::kAll || said == Opens::kChunks;
}

}  // namespace

std::optional<Shown> show_to(int rank, const Located& place, const void* data, std::size_t bytes) {
  if (!opens_this(rank, place)) return std::nullopt;
  return world.devices.show(place, data, bytes);
}

std::optional<Shown> show_to(const std::vector<int>& ranks, const Located& place, const void* data,
                             std::size_t bytes) {
  const auto takes = [&](int rank) { return rank == world.rank || opens_this(rank, place); };
  if (!std::all_of(ranks.begin(), ranks.end(), takes)) return std::nullopt;
  return world.devices.show(place, data, bytes);
}

}  // namespace nearpeak::layer
