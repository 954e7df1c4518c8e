// SPDX-License-Identifier: Apache-2.0
// Keeps for ever what must not be destroyed: its destructor would give a driver handles that went
// with a context. Drivers do not survive that: cuStreamDestroy and cuMemcpyAsync crash with a
// stream from before cudaDeviceReset (driver 580 on an H200). It stays reachable, for leak
// checkers.
#pragma once

#include <memory>
#include <vector>

namespace nearpeak {

template <class Object>
void abandon(std::unique_ptr<Object>& object) {
  static auto& abandoned = *new std::vector<std::unique_ptr<Object>>;
  if (object) abandoned.push_back(std::move(object));
}

}  // namespace nearpeak
