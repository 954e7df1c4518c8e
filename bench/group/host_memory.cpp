// SPDX-License-Identifier: Apache-2.0
#include "group/host_memory.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <map>

#include "group/machine.hpp"

namespace nearpeak {
namespace {

constexpr double kMostMemory = 0.7;  // of what is available

}  // namespace

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  for (std::uint64_t kib = 0; file >> name;) {
    if (name == "MemAvailable:" && file >> kib) return kib * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t host_hash() { return std::hash<std::string>()(machine_key()); }

std::string why_too_much(const std::vector<MemoryNeed>& ranks, const std::string& owner,
                         double share) {
  std::map<std::uint64_t, MemoryNeed> memories;
  for (const MemoryNeed& need : ranks) {
    const auto [memory, first] = memories.emplace(need.shared, need);
    if (first) continue;
    memory->second.bytes += need.bytes;
    memory->second.available = std::min(memory->second.available, need.available);
  }
  for (const auto& [_, all] : memories)
    if (static_cast<double>(all.bytes) > share * static_cast<double>(all.available))
      return "the buffers of all ranks of a " + owner + " are " + std::to_string(all.bytes >> 20) +
             " MiB, and it has " + std::to_string(all.available >> 20) +
             " MiB available: choose smaller sizes or fewer ranks";
  return "";
}

std::string why_too_much(Group& group, std::uint64_t bytes) {
  return why_too_much(group.gather(MemoryNeed{host_hash(), bytes, available_memory()}), "host",
                      kMostMemory);
}

}  // namespace nearpeak
