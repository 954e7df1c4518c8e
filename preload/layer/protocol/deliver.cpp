// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/deliver.hpp"

#include <algorithm>
#include <cstring>

#include "layer/protocol/copy_proxy.hpp"
#include "layer/protocol/opening.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

// By a kernel. False where none does it.
bool unpack_on_device(const Target& target, const void* from, std::size_t bytes) {
  const auto layout = layout_of(target.n, target.type);
  return layout && world.devices.unpack_from_host(target.place, *layout, target.data, from, bytes);
}

void unpack_by_shadow(const Target& target, const void* from, std::size_t bytes) {
  accept_envelopes(target.place.device);
  HostShadow shadow(world.devices, target.data, target.place, {{0, target.n, target.type}},
                    Use::kReadWrite);
  shadow.fill();
  unpack(from, bytes, shadow.data(), target.n, target.type);
  shadow.write_back();
}

}  // namespace

void put(Receive& receive, const void* from, std::size_t bytes) {
  const Target& target = receive.target;
  const std::size_t fits = std::min(bytes, target.room);
  if (target.dense && target.on_device) {
    copy_to_device(target.place, target.data, from, fits);
  } else if (target.dense) {
    std::memcpy(target.data, from, fits);
  } else if (!target.on_device) {
    unpack(from, fits, target.data, target.n, target.type);
  } else if (!unpack_on_device(target, from, fits)) {
    unpack_by_shadow(target, from, fits);
  }
  receive.note_delivered(bytes);
}

void correct(const Receive& receive, MPI_Status& status) {
  if (receive.delivered)
    NEARPEAK_REAL(MPI_Status_set_elements_x)(&status, calls::byte_type(), receive.status.bytes);
}

}  // namespace nearpeak::layer
