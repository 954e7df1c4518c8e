// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/short_receives.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {
namespace {

// A rank that begins more of them before a first short message comes to a device does not note any
// more, and short messages go to it through host memory: applications of the host are not slowed.
constexpr unsigned kMostNoted = 4096;
unsigned noted = 0;

// The last few allocations that short messages to a rank came from.
struct Met {
  std::array<std::uint64_t, 8> allocations{};
  std::size_t next = 0;
};

}  // namespace

// Where several threads call MPI, one may wait in the library for a receive that nobody has noted.
bool watches_short_receives() {
  return !world.gives_room && world.devices.loaded() && !world.multiple && noted < kMostNoted;
}

void count_short_receive() { ++noted; }

void note_short_message(int sender, std::size_t bytes) {
  if (bytes == 0 || bytes > kEnvelopeBytes || !watches_short_receives()) return;
  const bool near = sender >= 0 && sender != world.rank &&
                    world.areas[static_cast<std::size_t>(sender)] != nullptr;
  if (!near || world.settings.inline_bytes >= kEnvelopeBytes || !world.accepts_envelopes.load() ||
      WithoutRoom::any())
    return;
  world.gives_room = true;
  world.area().header().gives_room.store(1, std::memory_order_release);
}

void decline_short_envelopes() {
  noted = kMostNoted;
  if (world.gives_room) world.area().header().gives_room.store(0, std::memory_order_release);
}

bool has_room(int rank, std::size_t bytes) {
  if (bytes > kEnvelopeBytes) return true;
  const auto& area = world.areas[static_cast<std::size_t>(rank)];
  return area && area->header().gives_room.load(std::memory_order_acquire) != 0;
}

bool comes_again(int rank, std::uint64_t allocation) {
  static auto& all = *new std::vector<Met>(static_cast<std::size_t>(world.size));
  auto& [allocations, next] = all[static_cast<std::size_t>(rank)];
  if (std::find(allocations.begin(), allocations.end(), allocation) != allocations.end())
    return true;
  allocations[next++ % allocations.size()] = allocation;
  return false;
}

}  // namespace nearpeak::layer
