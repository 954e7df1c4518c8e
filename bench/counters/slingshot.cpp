// SPDX-License-Identifier: Apache-2.0
// Slingshot's adapters (Cassini): octets of good frames, which their driver shows as
// `VALUE@SECONDS.NANOSECONDS`. Messages go past the kernel, so the interface hsn0 counts none.
#include "counters/pairs_of_files.hpp"

namespace nearpeak {
namespace {

const RegisterSource slingshot([](const CounterScope& scope, OpenedSources& opened) {
  if (!scope.host) return;
  const std::string adapters = scope.root + "/sys/class/cxi";
  auto all = std::make_unique<PairsOfFiles>(1);
  std::string without;
  for (const std::string& adapter : names_in(adapters)) {
    const std::string telemetry = adapters + "/" + adapter + "/device/telemetry/";
    if (!all->add({kSlingshot, adapter}, telemetry + "hni_sts_tx_ok_octets",
                  telemetry + "hni_sts_rx_ok_octets"))
      without += (without.empty() ? "" : ", ") + adapter;
  }
  if (!without.empty())
    opened.unread.push_back(
        {kSlingshot, "no telemetry/hni_sts_tx_ok_octets that can be read: " + without});
  if (!all->links().empty()) opened.sources.push_back(std::move(all));
});

}  // namespace
}  // namespace nearpeak
