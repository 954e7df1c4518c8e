// SPDX-License-Identifier: Apache-2.0
// Ports of RDMA adapters, InfiniBand and RoCE. Their data counters are in units of four octets
// (Linux, Documentation/ABI/stable/sysfs-class-infiniband: port_xmit_data). Linux 4.5 and later ask
// for the 64-bit ones; an older kernel's may stop at their 32 bits.
#include "counters/pairs_of_files.hpp"

namespace nearpeak {
namespace {

constexpr std::uint64_t kOctets = 4;

const RegisterSource infiniband([](const CounterScope& scope, OpenedSources& opened) {
  if (!scope.adapters) return;
  const std::string adapters = scope.root + "/sys/class/infiniband/";
  auto all = std::make_unique<PairsOfFiles>(kOctets);
  for (const std::string& adapter : names_in(adapters))
    for (const std::string& port : names_in(adapters + adapter + "/ports"))
      all->add(kInfiniband, adapter + ":" + port,
               adapters + adapter + "/ports/" + port + "/counters/", "port_xmit_data",
               "port_rcv_data");
  give(std::move(all), kInfiniband, "counters/port_xmit_data", opened);
});

}  // namespace
}  // namespace nearpeak
