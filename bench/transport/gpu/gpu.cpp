// SPDX-License-Identifier: Apache-2.0
#include "transport/gpu/gpu.hpp"

#include <algorithm>

#include "accel/resident.hpp"

namespace nearpeak {
namespace {

std::vector<GpuMethod>& registry() {
  static std::vector<GpuMethod> all;
  return all;
}

}  // namespace

GpuMemory::GpuMemory(std::size_t slot_bytes, std::size_t stage_bytes)
    : out(slot_bytes),
      in(slot_bytes),
      stage(stage_bytes),
      queue(sizeof(ResidentQueue)),
      control_memory_(sizeof(Control)),
      control_(new (control_memory_.data()) Control) {}

PeerSlots::PeerSlots(Device& device, const IpcHandle& handle)
    : opened_(device.ipc()->open(handle)) {}

PeerSlots::PeerSlots(Device& device, SharedMemory& memory, std::size_t bytes)
    : device_(&device), memory_(memory.data()), bytes_(bytes) {}

char* PeerSlots::address(bool registered) {
  if (opened_) return static_cast<char*>(opened_->data());
  if (!registered) {
    registered_.reset();
    return memory_;
  }
  if (!registered_) registered_ = registration_of(*device_).register_memory(memory_, bytes_);
  return static_cast<char*>(registered_->on_device());
}

void GpuEnd::reset() const {
  own.control().posted.tell(0);
  own.control().taken.tell(0);
}

RegisterGpuMethod::RegisterGpuMethod(GpuMethod method) { registry().push_back(std::move(method)); }

std::vector<GpuMethod> gpu_methods() {
  auto all = registry();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace nearpeak
