// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/turns.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {
namespace {

using Clock = std::chrono::steady_clock;
using Stage = Order::Stage;
using Way = Order::Way;

// Whether a rank has said that it moves for others of this one's GPU.
bool serves_here(int rank) {
  const auto& area = world.areas[static_cast<std::size_t>(rank)];
  if (!area) return false;
  const Header& header = area->header();
  return header.able.load(std::memory_order_acquire) != 0 &&
         header.serves.load(std::memory_order_relaxed) != 0 &&
         std::string_view(header.uuid.data()) == world.area().header().uuid.data();
}

// The lowest of them: all find the same one, but while ranks begin and end, when the order that
// goes to another one is served too, or taken back. -1: none.
int lowest() {
  for (int rank = 0; rank < world.size; ++rank)
    if (serves_here(rank)) return rank;
  return -1;
}

// What this rank knows of its mover.
struct Asking {
  static constexpr unsigned kAgain = 64;  // orders, then it looks for a lower one
  static constexpr unsigned kInVain = 4;  // orders in a row, then it asks less often,
  static constexpr unsigned kMost = 256;  // and at least once in so many copies
  int mover = -1;
  unsigned left = 0;
  unsigned in_vain = 0;
  unsigned not_asked = 0;  // copies, before it asks again

  // Whom to ask; -1: nobody.
  int whom() {
    if (!world.settings.mover || !world.able.load(std::memory_order_relaxed)) return -1;
    if (left == 0 || mover < 0 || !serves_here(mover)) {
      mover = lowest();
      left = kAgain;
    }
    --left;
    if (mover == world.rank) return -1;
    if (not_asked == 0) return mover;
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

bool has_ended(int rank) {
  return kill(world.processes[static_cast<std::size_t>(rank)], 0) != 0 && errno == ESRCH;
}

// Waits for the answer to the order; false where this rank has the copy to do.
bool answered(Order& order, int mover) {
  constexpr std::chrono::milliseconds kLong{100};  // a copy takes less
  const auto until = Clock::now() + world.settings.mover_patience;
  auto look = until + kLong;
  for (Pause pause;; pause()) {
    Stage state = order.state.load(std::memory_order_acquire);
    if (state == Stage::kDone || state == Stage::kRefused) {
      order.state.store(Stage::kFree, std::memory_order_relaxed);
      asking.note(true);
      return state == Stage::kDone;
    }
    if (state == Stage::kAsked && Clock::now() > until &&
        order.state.compare_exchange_strong(state, Stage::kFree)) {
      ++world.counts.taken_back;
      asking.note(false);
      return false;
    }
    if (state != Stage::kTaken || Clock::now() < look) continue;
    if (has_ended(mover)) {
      area_of(mover).header().serves.store(0, std::memory_order_relaxed);
      order.state.store(Stage::kFree, std::memory_order_relaxed);
      return false;
    }
    look = Clock::now() + kLong;
  }
}

bool ask(int mover, Way way, const OrderMemory& from, const OrderMemory& to, std::size_t bytes) {
  Order& order = world.area().order();
  order.way = way;
  order.mover = static_cast<std::uint32_t>(mover);
  order.bytes = bytes;
  order.from = from;
  order.to = to;
  order.state.store(Stage::kAsked, std::memory_order_release);
  area_of(mover).header().rung.fetch_add(1, std::memory_order_release);
  if (!answered(order, mover)) return false;
  ++world.counts.moved_for;
  return true;
}

// Of this process.
OrderMemory remote_of(const Located& place, const void* data) {
  const auto offset = static_cast<const char*>(data) - static_cast<const char*>(place.base);
  return {.rank = static_cast<std::uint32_t>(world.rank),
          .address = reinterpret_cast<std::uint64_t>(data),
          .allocation = place.allocation,
          .offset = static_cast<std::uint64_t>(offset),
          .handle = world.devices.handle_of(place)};
}

// Whom to ask for a copy from or to memory of this process; -1: nobody.
int whom_for(const Located& place) {
  return place.shareable && place.device == world.home ? asking.whom() : -1;
}

// What a rank offers; its memory can be this process's own, which has no handle in its slot.
OrderMemory offered_of(int sender, const Slot& slot) {
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

Here found(const OrderMemory& remote, std::uint64_t bytes) {
  if (remote.rank == static_cast<std::uint32_t>(world.rank)) {
    auto* const data = reinterpret_cast<char*>(remote.address);
    return {data, world.devices.locate(data)};
  }
  check_part(remote.handle, remote.offset, bytes);
  return {world.devices.opened(world.home, remote.rank, remote.allocation, remote.handle) +
              remote.offset,
          Devices::place_of_opened(world.home)};
}

// What is ordered, read once: another rank writes it.
struct Ordered {
  explicit Ordered(const Order& order)
      : way(order.way), bytes(order.bytes), from(order.from), to(order.to) {}
  Way way;
  std::uint64_t bytes;
  OrderMemory from;
  OrderMemory to;
};

void carry(const Ordered& order, char* room) {
  if (order.way != Way::kAcross && order.bytes > kOrderRoom)
    throw std::out_of_range("another rank orders more than there is room for");
  // To open the second one never closes the first: that would be another one of the same rank.
  if (order.way == Way::kDown) {
    const Here from = found(order.from, order.bytes);
    world.devices.down(from.place, room, from.data, order.bytes);
  } else if (order.way == Way::kUp) {
    const Here to = found(order.to, order.bytes);
    world.devices.up(to.place, to.data, room, order.bytes);
  } else {
    const Here from = found(order.from, order.bytes);
    const Here to = found(order.to, order.bytes);
    world.devices.across(to.place, to.data, from.place, from.data, order.bytes, order.from.rank);
  }
}

}  // namespace

bool is_mover() { return world.settings.mover && lowest() == world.rank; }

bool has_mover() { return asking.mover >= 0 && asking.mover != world.rank; }

void serve() {
  static std::uint32_t seen = 0;
  const std::uint32_t rung = world.area().header().rung.load(std::memory_order_acquire);
  if (rung == seen) return;
  seen = rung;
  each_other([](int, Area& area) {
    Order& order = area.order();
    Stage expected = Stage::kAsked;
    if (order.state.load(std::memory_order_acquire) != Stage::kAsked ||
        order.mover != static_cast<std::uint32_t>(world.rank) ||
        !order.state.compare_exchange_strong(expected, Stage::kTaken))
      return;
    Stage answer = Stage::kDone;
    try {
      carry(Ordered(order), area.order_room());
      ++world.counts.served;
    } catch (const std::exception&) {
      answer = Stage::kRefused;  // who asked copies, and says what is wrong if that fails too
    }
    order.state.store(answer, std::memory_order_release);
  });
}

void end_serving() {
  if (world.mapped) world.area().header().serves.store(0, std::memory_order_relaxed);
}

void copy_down(const Located& place, void* host, const void* from, std::size_t bytes) {
  if (bytes > 0 && bytes <= kOrderRoom) {
    const int mover = whom_for(place);
    if (mover >= 0 && ask(mover, Way::kDown, remote_of(place, from), {}, bytes)) {
      std::memcpy(host, world.area().order_room(), bytes);
      return;
    }
  }
  world.devices.down(place, host, from, bytes);
}

void copy_up(const Located& place, void* to, const void* host, std::size_t bytes) {
  if (bytes > 0 && bytes <= kOrderRoom) {
    const int mover = whom_for(place);
    if (mover >= 0) {
      std::memcpy(world.area().order_room(), host, bytes);
      if (ask(mover, Way::kUp, {}, remote_of(place, to), bytes)) return;
    }
  }
  world.devices.up(place, to, host, bytes);
}

bool fetched_by_mover(const Located& place, void* to, int sender, const Slot& slot,
                      std::size_t bytes) {
  if (sender == world.rank || bytes == 0) return false;
  const int mover = whom_for(place);
  return mover >= 0 &&
         ask(mover, Way::kAcross, offered_of(sender, slot), remote_of(place, to), bytes);
}

bool lowered_by_mover(void* host, int sender, const Slot& slot, std::size_t bytes) {
  if (sender == world.rank || bytes == 0 || bytes > kOrderRoom) return false;
  const int mover = asking.whom();
  if (mover < 0 || !ask(mover, Way::kDown, offered_of(sender, slot), {}, bytes)) return false;
  std::memcpy(host, world.area().order_room(), bytes);
  return true;
}

}  // namespace nearpeak::layer
