// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/copy_proxy.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "layer/protocol/opening.hpp"
#include "layer/protocol/pause.hpp"

namespace nearpeak::layer {
// It has said that it moves for others of this one's GPU.
bool takes_turns_with(int rank) {
  const auto& area = world.areas[static_cast<std::size_t>(rank)];
  if (!area) return false;
  const Header& header = area->header();
  return header.accepts_envelopes.load(std::memory_order_acquire) != 0 &&
         header.serves.load(std::memory_order_relaxed) != 0 &&
         std::string_view(header.uuid.data()) == world.area().header().uuid.data();
}

namespace {

using Clock = std::chrono::steady_clock;
using Stage = CopyRequest::Stage;
using Way = CopyRequest::Way;

// The lowest of them: all find the same one, but while ranks begin and end, when the request that
// goes to another one is served too, or taken back. -1: none.
int lowest() {
  for (int rank = 0; rank < world.size; ++rank)
    if (takes_turns_with(rank)) return rank;
  return -1;
}

// What this rank knows of its proxy.
struct Asking {
  static constexpr unsigned kAgain = 64;  // requests, then it looks for a lower one
  static constexpr unsigned kInVain = 4;  // requests in a row, then it asks less often,
  static constexpr unsigned kMost = 256;  // and at least once in so many copies
  int proxy = -1;
  unsigned left = 0;
  unsigned in_vain = 0;
  unsigned not_asked = 0;  // copies, before it asks again

  // Whom to ask; -1: nobody.
  int whom() {
    // Where this rank serves nobody, its GPU runs kernels of several processes at once.
    if (!world.settings.copy_proxy || !world.accepts_envelopes.load(std::memory_order_relaxed) ||
        world.area().header().serves.load(std::memory_order_relaxed) == 0)
      return -1;
    if (left == 0 || proxy < 0 || (proxy != world.rank && !takes_turns_with(proxy))) {
      proxy = lowest();
      left = kAgain;
    }
    --left;
    if (proxy == world.rank) return -1;
    if (not_asked == 0) return proxy;
    --not_asked;
    return -1;
  }
  void note(bool answered) {
    in_vain = answered ? 0 : in_vain + 1;
    if (in_vain < kInVain) return;
    not_asked = std::min(kMost, 1U << std::min(in_vain - kInVain, 8U));
  }
};
Asking asking;

// Waits for the answer to the request; false where this rank has the copy to do.
bool answered(CopyRequest& request, int proxy) {
  constexpr std::chrono::milliseconds kLong{100};  // a copy takes less
  const auto until = Clock::now() + world.settings.proxy_patience;
  auto look = until + kLong;
  for (Pause pause;; pause()) {
    Stage state = request.state.load(std::memory_order_acquire);
    if (state == Stage::kDone || state == Stage::kRefused) {
      request.state.store(Stage::kFree, std::memory_order_relaxed);
      asking.note(true);
      return state == Stage::kDone;
    }
    if (state == Stage::kAsked && Clock::now() > until &&
        request.state.compare_exchange_strong(state, Stage::kFree)) {
      ++world.counts.withdrawn_requests;
      asking.note(false);
      return false;
    }
    if (state != Stage::kTaken || Clock::now() < look) continue;
    if (process_of_rank(proxy).has_ended()) {
      area_of(proxy).header().serves.store(0, std::memory_order_relaxed);
      request.state.store(Stage::kFree, std::memory_order_relaxed);
      return false;
    }
    look = Clock::now() + kLong;
  }
}

bool ask(int proxy, Way way, const RequestedMemory& from, const RequestedMemory& to,
         std::size_t bytes) {
  process_of_rank(proxy).watch();
  CopyRequest& request = world.area().copy_request();
  request.way = way;
  request.proxy = static_cast<std::uint32_t>(proxy);
  request.bytes = bytes;
  request.from = from;
  request.to = to;
  request.state.store(Stage::kAsked, std::memory_order_release);
  area_of(proxy).header().rung.fetch_add(1, std::memory_order_release);
  if (!answered(request, proxy)) return false;
  ++world.counts.proxied_copies;
  return true;
}

// Memory of this process, and whom to ask for a copy from or to it.
struct Own {
  int proxy;
  RequestedMemory memory;
  ShownChunks::Kept kept;
};
std::optional<Own> own(const Located& place, const void* data, std::size_t bytes) {
  if (!(place.shareable || place.is_chunk) || place.device != world.home) return std::nullopt;
  const int proxy = asking.whom();
  if (proxy < 0) return std::nullopt;
  auto shown = show_to(proxy, place, data, bytes);
  if (!shown) return std::nullopt;
  return Own{.proxy = proxy,
             .memory = {.rank = static_cast<std::uint32_t>(world.rank),
                        .address = reinterpret_cast<std::uint64_t>(data),
                        .allocation = shown->allocation,
                        .offset = shown->offset,
                        .handle = shown->exported},
             .kept = std::move(shown->kept)};
}

// What a rank offers; its memory can be this process's own, which has no handle in its slot.
RequestedMemory offered_of(int sender, const Slot& slot) {
  return {.rank = static_cast<std::uint32_t>(sender),
          .address = slot.address,
          .allocation = slot.allocation,
          .offset = slot.offset,
          .handle = slot.handle};
}

struct Here {
  char* data;
  Located place;
};

Here found(const RequestedMemory& remote, std::uint64_t bytes) {
  if (remote.rank == static_cast<std::uint32_t>(world.rank)) {
    auto* const data = reinterpret_cast<char*>(remote.address);
    return {data, world.devices.locate(data)};
  }
  check_part(remote.handle, remote.offset, bytes);
  if (remote.rank >= world.areas.size() || !world.areas[remote.rank])
    throw std::out_of_range("another rank names memory of a rank that shares none");
  if (remote.handle.chunks == 0 && !opens_handles_of(static_cast<int>(remote.rank)))
    throw std::runtime_error("the driver opens no handles of that rank here");
  return {world.devices.opened(world.home, remote.rank, remote.allocation, remote.handle) +
              remote.offset,
          Devices::place_of_opened(world.home)};
}

// What is requested, read once: another rank writes it.
struct ReadRequest {
  explicit ReadRequest(const CopyRequest& request)
      : way(request.way), bytes(request.bytes), from(request.from), to(request.to) {}
  Way way;
  std::uint64_t bytes;
  RequestedMemory from;
  RequestedMemory to;
};

void carry(const ReadRequest& request, char* room) {
  if (request.way != Way::kBetweenDevices && request.bytes > kCopyRequestRoom)
    throw std::out_of_range("another rank orders more than there is room for");
  // To open the second one never closes the first: that would be another one of the same rank.
  if (request.way == Way::kToHost) {
    const Here from = found(request.from, request.bytes);
    world.devices.copy_to_host(from.place, room, from.data, request.bytes);
  } else if (request.way == Way::kToDevice) {
    const Here to = found(request.to, request.bytes);
    world.devices.copy_to_device(to.place, to.data, room, request.bytes);
  } else {
    const Here from = found(request.from, request.bytes);
    const Here to = found(request.to, request.bytes);
    world.devices.copy_between_devices(to.place, to.data, from.place, from.data, request.bytes,
                                       request.from.rank);
  }
}

}  // namespace

bool is_copy_proxy() { return world.settings.copy_proxy && lowest() == world.rank; }

bool has_copy_proxy() { return asking.proxy >= 0 && asking.proxy != world.rank; }

void serve() {
  static std::uint32_t seen = 0;
  const std::uint32_t rung = world.area().header().rung.load(std::memory_order_acquire);
  if (rung == seen) return;
  seen = rung;
  each_other([](int, Area& area) {
    CopyRequest& request = area.copy_request();
    Stage expected = Stage::kAsked;
    if (request.state.load(std::memory_order_acquire) != Stage::kAsked ||
        request.proxy != static_cast<std::uint32_t>(world.rank) ||
        !request.state.compare_exchange_strong(expected, Stage::kTaken))
      return;
    Stage answer = Stage::kDone;
    try {
      carry(ReadRequest(request), area.copy_request_room());
      ++world.counts.served_requests;
    } catch (const std::exception&) {
      answer = Stage::kRefused;  // who asked copies, and says what is wrong if that fails too
    }
    request.state.store(answer, std::memory_order_release);
  });
}

void end_serving() {
  if (world.mapped) world.area().header().serves.store(0, std::memory_order_relaxed);
}

void copy_to_host(const Located& place, void* host, const void* from, std::size_t bytes) {
  if (bytes > 0 && bytes <= kCopyRequestRoom) {
    const std::optional<Own> its = own(place, from, bytes);
    if (its && ask(its->proxy, Way::kToHost, its->memory, {}, bytes)) {
      std::memcpy(host, world.area().copy_request_room(), bytes);
      return;
    }
  }
  world.devices.copy_to_host(place, host, from, bytes);
}

void copy_to_device(const Located& place, void* to, const void* host, std::size_t bytes) {
  if (bytes > 0 && bytes <= kCopyRequestRoom) {
    const std::optional<Own> its = own(place, to, bytes);
    if (its) {
      std::memcpy(world.area().copy_request_room(), host, bytes);
      if (ask(its->proxy, Way::kToDevice, {}, its->memory, bytes)) return;
    }
  }
  world.devices.copy_to_device(place, to, host, bytes);
}

bool copied_to_device_by_proxy(const Located& place, void* to, int sender, const Slot& slot,
                               std::size_t bytes) {
  if (sender == world.rank || bytes == 0) return false;
  const std::optional<Own> its = own(place, to, bytes);
  return its && ask(its->proxy, Way::kBetweenDevices, offered_of(sender, slot), its->memory, bytes);
}

bool copied_to_host_by_proxy(void* host, int sender, const Slot& slot, std::size_t bytes) {
  if (sender == world.rank || bytes == 0 || bytes > kCopyRequestRoom) return false;
  const int proxy = asking.whom();
  if (proxy < 0 || !ask(proxy, Way::kToHost, offered_of(sender, slot), {}, bytes)) return false;
  std::memcpy(host, world.area().copy_request_room(), bytes);
  return true;
}

}  // namespace nearpeak::layer
