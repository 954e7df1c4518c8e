// SPDX-License-Identifier: Apache-2.0
// Where a process runs: its host, the CPUs it may use and their NUMA nodes.
#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "accel/accelerator.hpp"
#include "record/record.hpp"

namespace nearpeak {
namespace {

constexpr int kMaxCpus = 8192;

// /sys/devices/system/cpu/cpuN/ holds a link nodeM; -1 where the kernel knows no NUMA.
int numa_node(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return -1;
  while (const dirent* entry = readdir(entries.get()))
    if (std::strncmp(entry->d_name, "node", 4) == 0 && entry->d_name[4] >= '0' &&
        entry->d_name[4] <= '9')
      return std::atoi(entry->d_name + 4);
  return -1;
}

}  // namespace

RankDevice rank_device(const DeviceInfo& info) { return {info.uuid, info.name, info.pci}; }

RankPlace this_place(int rank) {
  RankPlace place;
  place.rank = rank;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  place.host = host;

  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(kMaxCpus),
                                                             [](cpu_set_t* s) { CPU_FREE(s); });
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  if (sched_getaffinity(0, bytes, set.get()) != 0) return place;
  std::set<int> nodes;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (!CPU_ISSET_S(cpu, bytes, set.get())) continue;
    place.cpus.push_back(cpu);
    if (const int node = numa_node(cpu); node >= 0) nodes.insert(node);
  }
  place.numa_nodes.assign(nodes.begin(), nodes.end());
  return place;
}

}  // namespace nearpeak
