// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/short_receives.hpp"

#include <atomic>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {
namespace {

// A rank that begins more of them before a first short message comes to a device does not note any
// more, and short messages go to it through host memory: applications of the host are not slowed.
constexpr unsigned kMostNoted = 4096;
unsigned noted = 0;

}  // namespace

// Where several threads call MPI, one may wait in the library for a receive that nobody has noted.
bool watches_short_receives() {
  return !world.gives_room && world.devices.loaded() && !world.multiple && noted < kMostNoted;
}

void stop_watching_short_receives() { noted = kMostNoted; }

void count_short_receive() { ++noted; }

void note_short_message(std::size_t bytes) {
  if (bytes > kEnvelopeBytes || !watches_short_receives() || !world.accepts_envelopes.load() ||
      has_receives_without_room())
    return;
  world.gives_room = true;
  world.area().header().gives_room.store(1, std::memory_order_release);
}

bool has_room(int rank, std::size_t bytes) {
  if (bytes > kEnvelopeBytes) return true;
  const auto& area = world.areas[static_cast<std::size_t>(rank)];
  return area && area->header().gives_room.load(std::memory_order_acquire) != 0;
}

}  // namespace nearpeak::layer
