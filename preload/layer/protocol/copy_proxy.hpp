// SPDX-License-Identifier: Apache-2.0
// Ranks that share a GPU whose contexts take turns: one of them, the copy proxy, copies for all, so
// that the GPU never changes from one to another (the copy proxy of
// docs/contributing/layer-design.md). Who calls holds the guard.
#pragma once

#include <cstddef>

#include "layer/world/slots.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Whether this rank is the copy proxy of its GPU; also where it has the GPU for itself.
bool is_copy_proxy();

// Whether another rank moves for this one, as far as it knows.
bool has_copy_proxy();

// Whether its contexts and those of this one, on the same GPU, take turns.
bool takes_turns_with(int rank);

// Whether another rank has asked this one, ever: from then on it waits for nothing without serving.
inline bool is_asked() {
  return world.accepts_envelopes.load(std::memory_order_relaxed) &&
         world.area().header().rung.load(std::memory_order_relaxed) != 0;
}
// Does what others have asked for.
void serve();
// Serves no more: who asks copies by itself.
void end_serving();

// As those of Devices, by the proxy if it is another rank and comes in time, else by this one.
void copy_to_host(const Located& place, void* host, const void* from, std::size_t bytes);
void copy_to_device(const Located& place, void* to, const void* host, std::size_t bytes);
// Memory of a device that another rank, or this one, has offered in a slot, to a device or the
// host. False where the proxy does not do it.
bool copied_to_device_by_proxy(const Located& place, void* to, int sender, const Slot& slot,
                               std::size_t bytes);
bool copied_to_host_by_proxy(void* host, int sender, const Slot& slot, std::size_t bytes);

}  // namespace nearpeak::layer
