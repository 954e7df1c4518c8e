// SPDX-License-Identifier: Apache-2.0
#include "mpi/methods.hpp"

#include "benchmark/calls.hpp"
#include "mpi/mpi_group.hpp"
#include "transport/mpi/direct.hpp"
#include "transport/mpi/persistent.hpp"
#include "transport/mpi/staging.hpp"

namespace nearpeak {

std::unique_ptr<Transport> unstaged(const CaseContext& context, const Messages& messages,
                                    const Buffers& buffers) {
  if (calls_are(context, kPersistent))
    return std::make_unique<PersistentTransport>(comm_of(context.group), messages, buffers);
  return std::make_unique<DirectTransport>(comm_of(context.group), messages, buffers);
}

Device* staging_device(const CaseContext& context) {
  const bool stages = on_device(context.kind) && context.axis(kStaging) != kNoStaging;
  return stages ? context.device : nullptr;
}

Memory& memory_for_mpi(const CaseContext& context) {
  Device* const device = staging_device(context);
  if (device == nullptr) return context.memory;
  return context.axis(kStaging) == "pageable" ? host_memory() : device->memory(BufferKind::kPinned);
}

Axis staging_axis() {
  return {kStaging,
          {kNoStaging, "pageable", "pinned", "pipelined"},
          "none: MPI gets the buffers as they are; pageable, pinned: device buffers are copied to "
          "and from such host memory around the MPI calls; pipelined: the same in chunks of "
          "512 KiB, each copied while others are sent"};
}

std::vector<Method> mpi_methods(const CaseContext& context, const Messages& messages,
                                const Buffers& buffers) {
  const std::string& staging = context.axis(kStaging);
  std::string why_not;
  if (calls_are(context, kPersistent))
    why_not = staging == kNoStaging ? why_no_requests(messages.slots)
                                    : "persistent requests do not go with --staging";
  const auto make = [&, buffers]() -> std::unique_ptr<Transport> {
    if (staging == kNoStaging) return unstaged(context, messages, buffers);
    const StagedEnd end{comm_of(context.group), staging_device(context), memory_for_mpi(context)};
    return staging == "pipelined" ? pipelined_staging(end, messages, buffers)
                                  : whole_staging(end, messages, buffers);
  };
  return {{.name = "mpi", .buffers = buffers, .unavailable = why_not, .make = make}};
}

}  // namespace nearpeak
