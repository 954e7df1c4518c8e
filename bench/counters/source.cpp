// SPDX-License-Identifier: Apache-2.0
#include "counters/source.hpp"

#include <algorithm>
#include <fstream>

namespace nearpeak {
namespace {

std::vector<OpenSource>& registry() {
  static std::vector<OpenSource> all;
  return all;
}

}  // namespace

RegisterSource::RegisterSource(OpenSource open) { registry().push_back(open); }

std::string pci_folder(const CounterScope& scope) {
  // Drivers write 00000000:17:00.0, Linux 0000:17:00.0.
  constexpr std::size_t kLength = 12;
  const std::size_t more = scope.pci.size() > kLength ? scope.pci.size() - kLength : 0;
  return scope.root + "/sys/bus/pci/devices/" + scope.pci.substr(more) + "/";
}

unsigned pci_vendor(const CounterScope& scope) {
  std::ifstream file(pci_folder(scope) + "vendor");
  unsigned number = 0;
  return file >> std::hex >> number ? number : 0;
}

OpenedSources open_sources(const CounterScope& scope) {
  OpenedSources opened;
  for (const OpenSource open : registry()) open(scope, opened);
  // Not in the order in which the program was linked.
  std::sort(opened.sources.begin(), opened.sources.end(), [](const auto& a, const auto& b) {
    return a->links().front().kind < b->links().front().kind;
  });
  return opened;
}

}  // namespace nearpeak
