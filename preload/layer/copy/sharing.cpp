// SPDX-License-Identifier: Apache-2.0
// What Devices shows other processes of this one's memory, and has open of theirs.
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "layer/copy/devices.hpp"

namespace nearpeak::layer {

const Exported& Devices::handle_of(const Located& memory) {
  constexpr std::size_t kFew = 64;
  if (++asked_ % kSeldom == 0) look_for_freed(1, 0);
  const auto known = handles_.find(memory.allocation);
  if (known != handles_.end()) return known->second;
  look_for_freed(kFew, kFew);
  if (handles_.size() >= kMostHandles) handles_.clear();
  Exported exported{.base = reinterpret_cast<std::uint64_t>(memory.base), .bytes = memory.bytes};
  exported.handle = ipc_of(device_of(memory.device)).export_memory(memory.base);
  return handles_[memory.allocation] = exported;
}

std::optional<Shown> Devices::show(const Located& memory, const void* data, std::size_t bytes) {
  Shown shown;
  shown.allocation = memory.allocation;
  if (memory.shareable) {
    shown.exported = handle_of(memory);
  } else {
    constexpr std::size_t kFew = 16;
    if (!memory.is_chunk) return std::nullopt;
    if (++asked_ % kSeldom == 0) look_for_freed(1, kFew);
    const auto exported = shown_chunks_.show(memory, data, bytes, shown.kept,
                                             [this](std::uint64_t gone) { tell_freed(gone); });
    if (!exported) return std::nullopt;
    shown.exported = *exported;
  }
  shown.offset = reinterpret_cast<std::uint64_t>(data) - shown.exported.base;
  return shown;
}

ChunkQuestions Devices::chunk_questions() {
  return {.allocation_at =
              [this](const void* at) {
                const Found found = find(at);
                return found.on_device ? found.allocation : 0;
              },
          .locate = [this](const void* at) { return locate(at); },
          .sharing = [this](int device) { return device_of(device).chunk_sharing(); }};
}

void Devices::share_chunks(ChunkTable& own, std::function<ChunkOwner(std::uint32_t)> owners) {
  // Of the files that a process may have open most are the application's.
  constexpr rlim_t kPart = 4;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  shown_chunks_.begin(own, static_cast<std::size_t>(files.rlim_cur / kPart));
  chunk_owners_ = std::move(owners);
}

void Devices::tell_freed(std::uint64_t allocation) {
  if (Freed* const freed = freed_ ? freed_(self_) : nullptr) freed->add(allocation);
}

void Devices::tell_of_freed(std::function<Freed*(std::uint32_t)> freed, std::uint32_t self) {
  freed_ = std::move(freed);
  self_ = self;
}

// Whether the next few of those that others may have opened are still there.
void Devices::look_for_freed(std::size_t few, std::size_t few_chunks) {
  shown_chunks_.look_for_freed(few_chunks, [this](std::uint64_t gone) { tell_freed(gone); });
  for (std::size_t i = std::min(few, handles_.size()); i > 0; --i) {
    auto next = handles_.upper_bound(looked_);
    if (next == handles_.end()) next = handles_.begin();
    looked_ = next->first;
    if (find(reinterpret_cast<const void*>(next->second.base)).allocation == looked_) continue;
    handles_.erase(next);
    tell_freed(looked_);
  }
}

char* Devices::opened(int device, std::uint32_t rank, std::uint64_t allocation,
                      const Exported& exported) {
  device_of(device);
  if (++uses_ % kSeldom == 0) close_freed();
  if (exported.chunks > 0) return opened_in_chunks(device, rank, exported);
  const auto known = std::find_if(opened_.begin(), opened_.end(), [&](const Opened& each) {
    return each.allocation == allocation && each.rank == rank && each.device == device;
  });
  if (known != opened_.end()) {
    opened_.splice(opened_.begin(), opened_, known);
  } else {
    close_freed();
    // Where it lies now nothing else can be.
    close_if([&](const Opened& each) {
      return each.rank == rank && each.allocation != allocation &&
             each.base < exported.base + exported.bytes && exported.base < each.base + each.bytes;
    });
    make_room(device, exported.bytes);
    opened_.push_front(
        {device, rank, allocation, exported.base, exported.bytes, open(device, rank, exported)});
  }
  opened_.front().last = uses_;
  return static_cast<char*>(opened_.front().memory->data());
}

char* Devices::opened_in_chunks(int device, std::uint32_t rank, const Exported& exported) {
  const ChunkOwner owner = chunk_owners_ ? chunk_owners_(rank) : ChunkOwner{};
  char* const known = owner.table == nullptr
                          ? nullptr
                          : opened_chunks_.find(device, rank, *owner.table, exported, uses_);
  if (known != nullptr) return known;
  close_freed();
  const OpenedChunks::Limit limit{.most = most_opened(device),
                                  .recent = uses_ > kLong ? uses_ - kLong : 0};
  return opened_chunks_.open(device_of(device), rank, owner, exported, uses_, limit);
}

// Their memory is not free before.
void Devices::close_if(const std::function<bool(const Opened&)>& which) {
  if (std::none_of(opened_.begin(), opened_.end(), which)) return;
  await_lanes();
  opened_.remove_if(which);
}

void Devices::close(std::uint32_t rank, std::uint64_t allocation) {
  close_if([=](const Opened& each) { return each.rank == rank && each.allocation == allocation; });
  opened_chunks_.close(rank, allocation);
}

void Devices::close(std::uint32_t rank, std::uint64_t allocation, const Exported& exported) {
  if (exported.chunks > 0)
    opened_chunks_.close(rank, exported);
  else
    close(rank, allocation);
}

void Devices::close_freed() {
  if (!freed_) return;
  constexpr std::uint64_t kRecent = 64;  // of these, a copy may have taken note of the place
  std::vector<std::pair<std::uint32_t, std::uint64_t>> gone;
  const auto hear = [&](std::uint32_t rank) {
    const Freed* const freed = freed_(rank);
    if (freed == nullptr) return;
    const bool all = freed->each_since(
        seen_freed_[rank], [&](std::uint64_t allocation) { gone.emplace_back(rank, allocation); });
    if (!all) missed_[rank] = uses_;
  };
  for (const Opened& each : opened_) hear(each.rank);
  opened_chunks_.each_rank(hear);
  for (const auto& [rank, allocation] : gone) close(rank, allocation);
  // What was used since is there.
  for (auto each = missed_.begin(); each != missed_.end();) {
    const auto [rank, uses] = *each;
    if (uses_ - uses < kRecent) {
      ++each;
      continue;
    }
    close_if([=](const Opened& known) { return known.rank == rank && known.last <= uses; });
    opened_chunks_.close_not_used(rank, uses);
    each = missed_.erase(each);
  }
}

std::uint64_t Devices::most_opened(int device) {
  return accelerator().devices().at(static_cast<std::size_t>(device)).memory_bytes / kPartOpened;
}

void Devices::make_room(int device, std::uint64_t bytes) {
  const std::uint64_t most = most_opened(device);
  for (const Opened& each : opened_) bytes += each.bytes;
  while (!opened_.empty()) {
    const Opened& oldest = opened_.back();
    const bool too_much = bytes > most && uses_ - oldest.last > kLong;
    if (opened_.size() < kMostOpened && !too_much) return;
    bytes -= oldest.bytes;
    await_lanes();
    opened_.pop_back();
  }
}

// Small allocations share a block, which a driver maps once: another one in it, freed meanwhile or
// not, is closed for this one when no copy is under way. Where none is known there, the rank's that
// was not used for longest.
std::unique_ptr<OpenedMemory> Devices::open(int device, std::uint32_t rank,
                                            const Exported& exported) {
  constexpr std::uint64_t kBlock = std::uint64_t{2} << 20;
  for (;;) {
    try {
      return ipc_of(device_of(device)).open(exported.handle);
    } catch (const AcceleratorAlreadyMapped&) {
      auto chosen = opened_.rend();
      for (auto each = opened_.rbegin(); each != opened_.rend(); ++each) {
        if (each->rank != rank || each->device != device) continue;
        const bool beside = each->base / kBlock == exported.base / kBlock;
        if (chosen == opened_.rend() || beside) chosen = each;
        if (beside) break;
      }
      if (chosen == opened_.rend()) throw;
      await_lanes();
      opened_.erase(std::next(chosen).base());
    }
  }
}

}  // namespace nearpeak::layer
