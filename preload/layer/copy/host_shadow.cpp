// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/host_shadow.hpp"

#include <algorithm>
#include <utility>

namespace nearpeak::layer {

HostShadow::HostShadow(Devices& devices, const void* buffer, const Located& place,
                       const std::vector<Part>& parts, Use use)
    : devices_(&devices),
      buffer_(static_cast<char*>(const_cast<void*>(buffer))),  // NOLINT: read alone where it is
      place_(place) {
  MPI_Aint high = 0;
  std::vector<Span> spans;
  for (const Part& part : parts) {
    const Span span = span_of(part.n, part.type);
    if (span.bytes() == 0) continue;
    const Span there{span.low + part.offset, span.high + part.offset};
    low_ = spans.empty() ? there.low : std::min(low_, there.low);
    high = spans.empty() ? there.high : std::max(high, there.high);
    spans.push_back(there);
    if (use == Use::kRead) continue;
    const Type& type = type_of(part.type);
    if (type.dense)  // all elements are one run
      written_.push_back({there.low, 1, 0, std::make_shared<Runs>(Runs{{0, span.bytes()}}), {}});
    else if (const auto layout = layout_of(part.n, part.type))
      written_.push_back({part.offset, 0, 0, nullptr, layout});
    else
      written_.push_back({part.offset, part.n, type.extent, runs_of(part.type), {}});
  }
  memory_ = host_memory_of(static_cast<std::size_t>(high - low_));
  if (use != Use::kWrite) read_ = std::move(spans);
}

void HostShadow::fill() {
  std::vector<Piece> pieces;
  for (const Span& span : read_)
    pieces.push_back({data() + span.low, buffer_ + span.low, span.bytes()});
  devices_->copy_to_host(place_, pieces);
}

void HostShadow::write_back() {
  std::vector<Piece> pieces;
  for (const Written& each : written_) {
    if (each.layout &&
        devices_->copy_from_host(place_, *each.layout, buffer_ + each.offset, data() + each.offset))
      continue;
    const std::uint64_t blocks = each.layout ? each.layout->blocks() : 0;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      const MPI_Aint at = each.offset + static_cast<MPI_Aint>(each.layout->place(i));
      pieces.push_back({buffer_ + at, data() + at, each.layout->block});
    }
    for (MPI_Count i = 0; i < each.n; ++i)
      for (const Run& run : *each.runs) {
        const MPI_Aint at = each.offset + static_cast<MPI_Aint>(i * each.extent) + run.offset;
        pieces.push_back({buffer_ + at, data() + at, run.bytes});
      }
  }
  devices_->copy_to_device(place_, pieces);
}

void write_back_once(std::vector<HostShadow>& shadows) {
  for (HostShadow& shadow : shadows) shadow.write_back();
  shadows.clear();
}

}  // namespace nearpeak::layer
