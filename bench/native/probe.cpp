// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "native/mode.hpp"

namespace nearpeak {

void run_probe(RecordWriter& writer, const Table& table, const ClockQuality& clock) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  SlotBuffer from(host_memory(), kBytes, 1);
  SlotBuffer to(host_memory(), kBytes, 1);
  from.fill({1});
  to.spoil(1);

  Repeated copies([&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      std::memcpy(to.slot(0), from.slot(0), kBytes);
      asm volatile("" ::: "memory");  // each copy is made, not the last one alone
    }
  });
  SamplingPolicy policy;
  policy.slot_s = 0.04;
  Alone alone;
  CaseResult result;
  result.name = {.benchmark = "probe",
                 .metric = {"copy", "GB/s", "higher"},
                 .size_bytes = kBytes,
                 .buffers = "H,H",
                 .axes = {},
                 .method = "memcpy"};
  result.measurement = Sampler(alone, clock).measure(policy, copies);
  for (const double us : result.measurement.samples_us)
    result.samples.push_back(static_cast<double>(kBytes) / us / 1e3);
  writer.samples(result);
  table.heading("drift probe: " + std::to_string(median(result.samples)) + " GB/s");
}

}  // namespace nearpeak
