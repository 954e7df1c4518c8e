// SPDX-License-Identifier: Apache-2.0
// Slingshot's adapters (Cassini): octets of good frames, which their driver shows as
// `VALUE@SECONDS.NANOSECONDS`. Messages go past the kernel, so the interface hsn0 counts none.
#include "counters/pairs_of_files.hpp"

namespace nearpeak {
namespace {

const RegisterSource slingshot([](const CounterScope& scope, OpenedSources& opened) {
  if (!scope.adapters) return;
  const std::string adapters = scope.root + "/sys/class/cxi/";
  auto all = std::make_unique<PairsOfFiles>(1);
  for (const std::string& adapter : names_in(adapters))
    all->add(kSlingshot, adapter, adapters + adapter + "/device/telemetry/", "hni_sts_tx_ok_octets",
             "hni_sts_rx_ok_octets");
  give(std::move(all), kSlingshot, "telemetry/hni_sts_tx_ok_octets", opened);
});

}  // namespace
}  // namespace nearpeak
