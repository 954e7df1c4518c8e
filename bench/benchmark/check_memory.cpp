// SPDX-License-Identifier: Apache-2.0
#include "benchmark/check_memory.hpp"

#include <algorithm>
#include <limits>

#include "group/host_memory.hpp"

namespace nearpeak {
namespace {

constexpr double kMostOfDevice = 0.95;  // of what is free: drivers and kernels take some, too

std::uint64_t device_hash(const DeviceInfo& info) {
  return host_hash() ^ std::hash<std::string>()(info.uuid + info.pci + std::to_string(info.index));
}

// What a rank takes of its device.
MemoryNeed need_of_device(const CaseContext& context, std::uint64_t bytes) {
  constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
  if (context.device == nullptr || !on_device(context.kind)) return {0, 0, kUnknown};
  const DeviceInfo& info = context.device->info();
  const std::uint64_t used = std::min(context.device->used_bytes(), info.memory_bytes);
  return {device_hash(info), bytes, info.memory_bytes == 0 ? kUnknown : info.memory_bytes - used};
}

// The same on all ranks; empty: it fits.
std::string why_not(const CaseContext& context, const BufferBytes& bytes, const std::string& what) {
  if (const auto most = context.group.largest(bytes.limited); most > context.most_bytes)
    return what + " of a rank take " + bytes_text_up(most) + ": more than --memory-limit " +
           bytes_text(context.most_bytes);
  const std::uint64_t of_host = on_device(context.kind) ? 0 : bytes.all;
  const std::string why = why_too_much(context.group, of_host + bytes.scratch);
  if (!why.empty()) return why;
  return why_too_much(context.group.gather(need_of_device(context, bytes.all)), "device",
                      kMostOfDevice);
}

}  // namespace

void check_memory(const CaseContext& context, const BufferBytes& bytes, const std::string& what) {
  const std::string why = why_not(context, bytes, what);
  if (!why.empty()) throw Unfit(why);
}

void check_memory(const CaseContext& context, std::size_t smallest,
                  const std::function<std::uint64_t(std::size_t size)>& bytes_at,
                  const std::string& what) {
  const auto why_not_at = [&](std::size_t size) {
    const std::uint64_t bytes = bytes_at(size);
    return why_not(context, {.all = bytes, .limited = bytes}, what);
  };
  const std::string why = why_not_at(context.bytes);
  if (why.empty()) return;
  std::size_t too_large = smallest;  // the first that is
  for (std::size_t end = context.bytes; too_large < end;) {
    const std::size_t middle = too_large + (end - too_large) / 2;
    if (why_not_at(middle).empty())
      too_large = middle + 1;
    else
      end = middle;
  }
  if (too_large == smallest) throw Unfit(why + "; no size fits");
  throw Unfit(why + "; sizes up to " + std::to_string(too_large - 1) + " fit");
}

}  // namespace nearpeak
