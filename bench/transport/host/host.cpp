// SPDX-License-Identifier: Apache-2.0
#include "transport/host/host.hpp"

#include <algorithm>
#include <new>

namespace nearpeak {
namespace {

std::vector<HostMethod>& registry() {
  static std::vector<HostMethod> all;
  return all;
}

}  // namespace

HostMemory::HostMemory(std::size_t slot_bytes)
    : out(slot_bytes),
      in(slot_bytes),
      control_memory_(sizeof(Control)),
      inbox_(kInbox),
      control_(new (control_memory_.data()) Control) {}

RegisterHostMethod::RegisterHostMethod(HostMethod method) {
  registry().push_back(std::move(method));
}

std::vector<HostMethod> host_methods() {
  auto all = registry();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace nearpeak
