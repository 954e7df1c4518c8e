// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/measure.hpp"

#include <algorithm>

#include "benchmark/runner.hpp"
#include "mpi/methods.hpp"
#include "programs/mpi/places.hpp"

namespace nearpeak {

CaseContext context_of(const Command& command, const DeviceChoice& devices, const Kinds& kinds,
                       MpiGroup& group, std::size_t bytes, const Axes& axes,
                       const std::string& allocator) {
  const BufferKind kind = kinds.of(group.rank(), group.size());
  // Of the largest cache between any rank's buffers and whoever moves them.
  const std::size_t cached = group.largest(
      command.common.cache_bytes(on_device(kind) ? devices.device()->info().l2_bytes : 0));
  return {.group = group,
          .kind = kind,
          .memory = devices.memory(kind, allocator),
          .device = devices.device(),
          .bytes = bytes,
          .window = command.common.window_at(bytes),
          .offset = command.offset,
          .cache_bytes = cached,
          .most_bytes = command.common.memory_limit,
          .axes = axes,
          .methods = mpi_methods};
}

namespace {

// Throws BadInput where a problem cannot be.
int solve(const Command& command, const DeviceChoice& devices, MpiGroup& group) {
  const Selected& selected = command.selected.front();
  try {
    return selected.benchmark->solve(context_of(command, devices, command.kinds.front(), group,
                                                selected.sizes.front(), selected.axes),
                                     *command.solve);
  } catch (const Unfit& error) {
    throw BadInput(error.what());
  }
}

int measure_part(const Command& command, const DeviceChoice& devices) {
  MpiGroup group(command.reversed);
  const Kinds& kinds = command.kinds.front();
  Runner runner(group, command.common, {.program = "nearpeak-mpi", .buffers = kinds.text()});
  const auto places = gather_places(devices, group);
  runner.count(devices.place());
  runner.open(library_version(), places);
  if (group.leads()) runner.table().heading(library_name());
  for (const Selected& selected : command.selected) {
    runner.heading(title(selected));
    for (const std::size_t bytes : selected.sizes)
      runner.run(*selected.benchmark,
                 context_of(command, devices, kinds, group, bytes, selected.axes));
  }
  return runner.status();
}

}  // namespace

int measure(const std::vector<Command>& parts, const DeviceChoice& devices, MpiGroup& group) {
  if (parts.front().solve) return solve(parts.front(), devices, group);
  int status = kGood;
  for (const Command& part : parts) status = std::max(status, measure_part(part, devices));
  return status;
}

}  // namespace nearpeak
