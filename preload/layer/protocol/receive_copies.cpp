// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/receive_copies.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

struct CopyEnd {
  Located place;
  char* data;
};

struct GatheredCopy {
  Receive* receive;
  CopyEnd to;
  OfferedData from;
  std::size_t bytes;

  // By which it goes.
  int device() const {
    return to.place.kind == BufferKind::kDevice ? to.place.device : from.place.device;
  }
};

struct ReceiveCopies {
  std::vector<Receive*> by_engine;     // in the order in which their copies began
  std::vector<GatheredCopy> gathered;  // on one device, for the next batch
  std::vector<GatheredCopy> begun;     // those of the last one, for their memory
  std::size_t gathered_before = 0;     // at the look before
  std::vector<Receive*> in_batch;      // whose copies are under way,
  std::vector<Receive*> ended;         // likewise for their memory
  int batch_device = 0;                // on this device
};
ReceiveCopies& all_copies = *new ReceiveCopies;

// What `from` has, which is empty then, while it is dealt with. Its memory is that of `before`, and
// then for the next time: no vector is made for each batch.
template <typename Type>
class TakenOut {
 public:
  TakenOut(std::vector<Type>& from, std::vector<Type>& before) : before_(before) {
    all_.swap(before);
    all_.swap(from);
  }
  ~TakenOut() {
    all_.clear();
    all_.swap(before_);
  }
  TakenOut(const TakenOut&) = delete;
  TakenOut& operator=(const TakenOut&) = delete;

  const std::vector<Type>& operator*() const { return all_; }
  const std::vector<Type>* operator->() const { return &all_; }

 private:
  std::vector<Type> all_;
  std::vector<Type>& before_;
};

Located pinned() { return {.kind = BufferKind::kPinned}; }
bool is_on_device(const Located& place) { return place.kind == BufferKind::kDevice; }
char* data_of(const Target& target) { return static_cast<char*>(target.data); }

// `copied`: false where a reset of the device has ended the copy. What was to go to the device went
// with its memory.
void note_done(Receive& receive, bool copied = true) {
  if (!copied && !receive.target.on_device)
    end_job("the device was reset while a message came from it");
  if (Slot* const slot = std::exchange(receive.copied_slot, nullptr))
    slot->state.store(State::kDone, std::memory_order_release);
  const HostMemory landed = std::move(receive.landed);
  if (landed && !receive.target.on_device)
    std::memcpy(receive.target.data, landed.get(), static_cast<std::size_t>(receive.status.bytes));
  receive.is_copied = false;
}

void begin_by_engine(Receive& receive, const Located& place, void* to, const void* from,
                     std::size_t bytes) {
  if (all_copies.by_engine.size() == Devices::kLanes) wait_copy(*all_copies.by_engine.front());
  receive.is_copied = true;
  receive.copy_lane = world.devices.begin_copy(place, to, from, bytes);
  all_copies.by_engine.push_back(&receive);
}

// A kernel that is there, or the copy engine, is faster with one copy alone.
void copy_one(const GatheredCopy& one) {
  Receive& receive = *one.receive;
  Devices& devices = world.devices;
  const Located& to = one.to.place;
  const Located& from = one.from.place;
  if (one.bytes > Devices::kShort) {
    return begin_by_engine(receive, is_on_device(to) ? to : from, one.to.data, one.from.data,
                           one.bytes);
  }
  if (!is_on_device(to))
    devices.copy_to_host(from, one.to.data, one.from.data, one.bytes);
  else if (!is_on_device(from))
    devices.copy_to_device(to, one.to.data, one.from.data, one.bytes);
  else
    devices.copy_between_devices(to, one.to.data, from, one.from.data, one.bytes, one.from.rank);
  note_done(receive);
}

// The one before has ended.
void begin_batch() {
  if (all_copies.gathered.empty()) return;
  const TakenOut gathered(all_copies.gathered, all_copies.begun);
  if (gathered->size() == 1) return copy_one(gathered->front());
  CopyBatch batch;
  for (const GatheredCopy& one : *gathered) {
    batch.add({one.to.data, one.from.data, one.bytes});
    all_copies.in_batch.push_back(one.receive);
  }
  all_copies.batch_device = gathered->front().device();
  world.devices.begin_batch(all_copies.batch_device, batch);
  ++world.counts.batches;
  world.counts.batched_receives += gathered->size();
}

// The next one goes on while the CPU does its part of this one.
void end_and_begin_batch() {
  const TakenOut ended(all_copies.in_batch, all_copies.ended);
  const bool copied = ended->empty() || world.devices.wait_batch(all_copies.batch_device);
  begin_batch();
  for (Receive* const receive : *ended) note_done(*receive, copied);
}

bool gather(const GatheredCopy& one) {
  // Where both do not lie alike a kernel copies byte by byte.
  constexpr std::size_t kShort = 16384;
  const auto apart = reinterpret_cast<std::uintptr_t>(one.to.data) -
                     reinterpret_cast<std::uintptr_t>(one.from.data);
  if (one.bytes > kShort && apart % 16 != 0) return false;
  const Located& to = one.to.place;
  const Located& from = one.from.place;
  if (!world.devices.takes_batch(is_on_device(to) ? to : from, is_on_device(from) ? from : to))
    return false;
  const bool other =
      !all_copies.gathered.empty() && all_copies.gathered.front().device() != one.device();
  if (other || all_copies.gathered.size() == CopyBatch::kMost) end_and_begin_batch();
  one.receive->is_copied = true;
  all_copies.gathered.push_back(one);
  return true;
}

}  // namespace

void begin_copy(Receive& receive, Slot& slot, const OfferedData& from, std::size_t bytes) {
  receive.copied_slot = &slot;
  const Target& target = receive.target;
  begin_by_engine(receive, target.place, target.data, from.data, bytes);
}

bool gather_copy(Receive& receive, Slot& slot, const OfferedData& from, std::size_t bytes) {
  const Target& target = receive.target;
  if (!gather({&receive, {target.place, data_of(target)}, from, bytes})) return false;
  receive.copied_slot = &slot;
  return true;
}

bool gather_copy_to_host(Receive& receive, Slot& slot, const OfferedData& from, std::size_t bytes) {
  char* to = data_of(receive.target);
  HostMemory landing;
  if (!world.pinned.is_pinned_by_application({to, to + bytes})) {
    landing = world.devices.landing(from.place.device, bytes);
    to = landing.get();
  }
  if (to == nullptr || !gather({&receive, {pinned(), to}, from, bytes})) return false;
  receive.copied_slot = &slot;
  receive.landed = std::move(landing);
  return true;
}

bool begin_copy_to_device(Receive& receive, const HostMemory& from, std::size_t bytes) {
  const Target& target = receive.target;
  if (bytes == 0 || !world.devices.is_pinned(target.place.device, from)) return false;
  const OfferedData source{.place = pinned(), .data = from.get(), .rank = 0};
  if (gather({&receive, {target.place, data_of(target)}, source, bytes})) return true;
  if (bytes < Devices::kShort) return false;
  begin_by_engine(receive, target.place, target.data, from.get(), bytes);
  return true;
}

void advance_batches(bool may_come) {
  const std::size_t gathered = all_copies.gathered.size();
  const bool came = gathered != std::exchange(all_copies.gathered_before, gathered);
  if (came && may_come) return;
  if (all_copies.in_batch.empty() || world.devices.batch_ended(all_copies.batch_device))
    end_and_begin_batch();
}

void wait_copy(Receive& receive) {
  while (receive.is_copied) {
    if (std::erase(all_copies.by_engine, &receive) > 0) {
      note_done(receive, world.devices.wait_copy(receive.copy_lane));
    } else {
      end_and_begin_batch();
    }
  }
}

bool have_copies() {
  return !all_copies.by_engine.empty() || !all_copies.gathered.empty() ||
         !all_copies.in_batch.empty();
}

void wait_copies() {
  while (have_copies()) {
    while (!all_copies.by_engine.empty()) wait_copy(*all_copies.by_engine.front());
    end_and_begin_batch();
  }
}

void note_ended_copies() {
  for (std::size_t i = 0; i < all_copies.by_engine.size();) {
    if (world.devices.copy_ended(all_copies.by_engine[i]->copy_lane))
      wait_copy(*all_copies.by_engine[i]);
    else
      ++i;
  }
}

}  // namespace nearpeak::layer
