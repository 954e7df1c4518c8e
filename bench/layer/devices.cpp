// SPDX-License-Identifier: Apache-2.0
#include "layer/devices.hpp"

#include <algorithm>
#include <iterator>

#include "accel/library.hpp"

namespace nearpeak::layer {

bool Devices::load(std::string& why) {
  try {
    const Library library("NEARPEAK_CUDA_LIBRARY", {"libcuda.so.1"});
    if (!library.find(ask_, "cuPointerGetAttribute"))
      why = library.name() + " has no cuPointerGetAttribute";
    library.find(ask_current_, "cuCtxGetDevice");
  } catch (const BackendUnavailable& error) {
    why = error.what();
  }
  return loaded();
}

Accelerator& Devices::accelerator() {
  if (!accelerator_) accelerator_ = load_accelerator("cuda");
  return *accelerator_;
}

Located Devices::locate(const void* data) {
  const auto found = accelerator().locate(data);
  if (!found) throw AcceleratorError("the driver does not know an address that it knew before");
  return *found;
}

const std::string& Devices::uuid(int device) {
  return accelerator().devices().at(static_cast<std::size_t>(device)).uuid;
}

bool Devices::reached_by(int device, const std::string& uuid) {
  for (const DeviceInfo& info : accelerator().devices())
    if (info.uuid == uuid) return accelerator().reaches(info.index, device);
  return false;  // one that this process does not see
}

bool Devices::pinned(const void* data, std::size_t bytes) {
  const auto found = accelerator().locate(data);
  if (!found || found->kind != BufferKind::kPinned) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(data) -
                                               static_cast<const char*>(found->base));
  return offset + bytes <= found->bytes;
}

std::unique_ptr<RegisteredMemory> Devices::pin(int device, void* pages, std::size_t bytes) {
  return registration_of(accelerator().device(device)).register_memory(pages, bytes);
}

void Devices::copy(int device, void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) accelerator().device(device).copy(to, from, bytes);
}

void Devices::copy(int device, const std::vector<Piece>& pieces) {
  if (pieces.empty()) return;
  if (pieces.size() == 1) return copy(device, pieces[0].to, pieces[0].from, pieces[0].bytes);
  Device& of = accelerator().device(device);
  auto& stream = streams_[device];
  if (!stream) stream = of.new_stream();
  for (const Piece& piece : pieces) of.copy_async(piece.to, piece.from, piece.bytes, *stream);
  stream->synchronize();
}

IpcHandle Devices::handle_of(const Located& memory) {
  const auto known = handles_.find(memory.allocation);
  if (known != handles_.end()) return known->second;
  if (handles_.size() >= kMostHandles) handles_.clear();
  const IpcHandle handle = ipc_of(accelerator().device(memory.device)).export_memory(memory.base);
  return handles_[memory.allocation] = handle;
}

char* Devices::opened(int device, std::uint32_t rank, std::uint64_t allocation,
                      const IpcHandle& handle) {
  const std::pair name{rank, allocation};
  const auto known = std::find_if(opened_.begin(), opened_.end(),
                                  [&](const Opened& each) { return each.name == name; });
  if (known != opened_.end()) {
    opened_.splice(opened_.begin(), opened_, known);
  } else {
    if (opened_.size() >= kMostOpened) opened_.pop_back();
    opened_.push_front({name, open(device, rank, handle)});
  }
  return static_cast<char*>(opened_.front().memory->data());
}

// Small allocations share a block, which a driver maps once: another of the rank, freed meanwhile
// or not, is closed for this one. No copy is under way.
std::unique_ptr<OpenedMemory> Devices::open(int device, std::uint32_t rank,
                                            const IpcHandle& handle) {
  for (;;) {
    try {
      return ipc_of(accelerator().device(device)).open(handle);
    } catch (const AcceleratorAlreadyMapped&) {
      const auto other = std::find_if(opened_.rbegin(), opened_.rend(), [rank](const Opened& each) {
        return each.name.first == rank;
      });
      if (other == opened_.rend()) throw;
      opened_.erase(std::next(other).base());
    }
  }
}

}  // namespace nearpeak::layer
