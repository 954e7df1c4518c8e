// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/receive_copies.hpp"

#include <utility>
#include <vector>

#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

struct GatheredCopy {
  Receive* receive;
  OfferedData from;
  std::size_t bytes;
};

struct ReceiveCopies {
  std::vector<Receive*> by_engine;     // in the order in which their copies began
  std::vector<GatheredCopy> gathered;  // on one device, for the next batch
  std::size_t gathered_before = 0;     // at the look before
  std::vector<Receive*> in_batch;      // whose copies are under way
};
ReceiveCopies& copies = *new ReceiveCopies;

void note_done(Receive& receive) {
  std::exchange(receive.copied_slot, nullptr)->state.store(State::kDone, std::memory_order_release);
}

void note_batch_done() {
  for (Receive* const receive : copies.in_batch) note_done(*receive);
  copies.in_batch.clear();
}

void wait_batch() {
  if (copies.in_batch.empty()) return;
  world.devices.wait_batch(copies.in_batch.front()->target.place.device);
  note_batch_done();
}

// A kernel that is there, or the copy engine, is faster with one copy alone.
void copy_one(const GatheredCopy& one) {
  Receive& receive = *one.receive;
  const Target& target = receive.target;
  if (one.bytes > Devices::kShort)
    return begin_copy(receive, *receive.copied_slot, one.from, one.bytes);
  world.devices.copy_between_devices(target.place, target.data, one.from.place, one.from.data,
                                     one.bytes, one.from.rank);
  note_done(receive);
}

// The one before has ended.
void begin_batch() {
  if (copies.gathered.empty()) return;
  const std::vector<GatheredCopy> gathered = std::exchange(copies.gathered, {});
  if (gathered.size() == 1) return copy_one(gathered.front());
  CopyBatch batch;
  for (const GatheredCopy& one : gathered) {
    batch.add({one.receive->target.data, one.from.data, one.bytes});
    copies.in_batch.push_back(one.receive);
  }
  world.devices.begin_batch(gathered.front().receive->target.place.device, batch);
  ++world.counts.batches;
  world.counts.batched_receives += gathered.size();
}

void end_and_begin_batch() {
  wait_batch();
  begin_batch();
}

}  // namespace

void begin_copy(Receive& receive, Slot& slot, const OfferedData& from, std::size_t bytes) {
  if (copies.by_engine.size() == Devices::kLanes) wait_copy(*copies.by_engine.front());
  const Target& target = receive.target;
  receive.copied_slot = &slot;
  receive.copy_lane = world.devices.begin_copy(target.place, target.data, from.data, bytes);
  copies.by_engine.push_back(&receive);
}

bool gather_copy(Receive& receive, Slot& slot, const OfferedData& from, std::size_t bytes) {
  const Located& place = receive.target.place;
  // Where both do not lie alike a kernel copies byte by byte.
  constexpr std::size_t kShort = 16384;
  const auto apart = reinterpret_cast<std::uintptr_t>(receive.target.data) -
                     reinterpret_cast<std::uintptr_t>(from.data);
  if (bytes > kShort && apart % 16 != 0) return false;
  if (!world.devices.takes_batch(place, from.place)) return false;
  const bool other = !copies.gathered.empty() &&
                     copies.gathered.front().receive->target.place.device != place.device;
  if (other || copies.gathered.size() == CopyBatch::kMost) end_and_begin_batch();
  receive.copied_slot = &slot;
  copies.gathered.push_back({&receive, from, bytes});
  return true;
}

void advance_batches(bool may_come) {
  const std::size_t gathered = copies.gathered.size();
  const bool came = gathered != std::exchange(copies.gathered_before, gathered);
  if (came && may_come) return;
  if (!copies.in_batch.empty()) {
    if (!world.devices.batch_ended(copies.in_batch.front()->target.place.device)) return;
    note_batch_done();
  }
  begin_batch();
}

void wait_copy(Receive& receive) {
  while (receive.copied_slot != nullptr) {
    if (std::erase(copies.by_engine, &receive) > 0) {
      world.devices.wait_copy(receive.copy_lane);
      note_done(receive);
    } else {
      end_and_begin_batch();
    }
  }
}

bool have_copies() {
  return !copies.by_engine.empty() || !copies.gathered.empty() || !copies.in_batch.empty();
}

void wait_copies() {
  while (have_copies()) {
    while (!copies.by_engine.empty()) wait_copy(*copies.by_engine.front());
    end_and_begin_batch();
  }
}

void note_ended_copies() {
  for (std::size_t i = 0; i < copies.by_engine.size();) {
    if (world.devices.copy_ended(copies.by_engine[i]->copy_lane))
      wait_copy(*copies.by_engine[i]);
    else
      ++i;
  }
}

}  // namespace nearpeak::layer
