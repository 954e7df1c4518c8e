// SPDX-License-Identifier: Apache-2.0
#include "layer/devices.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "accel/library.hpp"

namespace nearpeak::layer {

bool Devices::load(std::string& why) {
  try {
    const Library library("NEARPEAK_CUDA_LIBRARY", {"libcuda.so.1"});
    if (!library.find(ask_, "cuPointerGetAttributes"))
      why = library.name() + " has no cuPointerGetAttributes";
    library.find(get_device_, "cuDeviceGet");
    library.find(ask_device_, "cuDeviceGetAttribute");
    library.find(exchange_capture_mode_, "cuThreadExchangeStreamCaptureMode");
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

// No more is asked of an allocation that was asked after before: no two have one number. Of memory
// that is put together by hand, or a pool's, it is not sure what has the number.
const Located& Devices::locate(const void* data, const Found& found) {
  if (found.allocation != 0) {
    const Located& known = known_[found.allocation % kMostKnown];
    const auto offset =
        reinterpret_cast<std::uintptr_t>(data) - reinterpret_cast<std::uintptr_t>(known.base);
    if (known.allocation == found.allocation && offset < known.bytes) return known;
  }
  const auto located = accelerator().locate(data);
  if (!located) throw AcceleratorError("the driver does not know an address that it knew before");
  return (located->shareable ? known_[located->allocation % kMostKnown] : other_) = *located;
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
  Device& of = accelerator().device(device);
  auto& stream = streams_[device];
  if (!stream) stream = of.new_stream();
  for (const Piece& piece : pieces) of.copy_async(piece.to, piece.from, piece.bytes, *stream);
  stream->synchronize();
}

void Devices::down(const Located& place, void* host, const void* from, std::size_t bytes) {
  if (bytes > 0 && bytes <= CourierBoard::kStaged)
    if (Courier* const by = courier(place.device, {&place});
        by != nullptr && by->down(host, from, bytes))
      return;
  copy(place.device, host, from, bytes);
}

void Devices::up(const Located& place, void* to, const void* host, std::size_t bytes) {
  if (bytes > 0 && bytes <= CourierBoard::kStaged)
    if (Courier* const by = courier(place.device, {&place});
        by != nullptr && by->up(to, host, bytes))
      return;
  copy(place.device, to, host, bytes);
}

void Devices::across(const Located& place, void* to, const Located& source, const void* from,
                     std::size_t bytes) {
  if (bytes > 0 && bytes <= Courier::kMost)
    if (Courier* const by = courier(place.device, {&place, &source});
        by != nullptr && by->across(to, from, bytes))
      return;
  copy(place.device, to, from, bytes);
}

void Devices::down(const Located& place, const std::vector<Piece>& pieces) {
  if (pieces.size() == 1) return down(place, pieces[0].to, pieces[0].from, pieces[0].bytes);
  copy(place.device, pieces);
}

void Devices::up(const Located& place, const std::vector<Piece>& pieces) {
  if (pieces.size() == 1) return up(place, pieces[0].to, pieces[0].from, pieces[0].bytes);
  copy(place.device, pieces);
}

void Devices::use_kernels(std::chrono::microseconds patience, std::function<bool(int)> alone) {
  patience_ = patience;
  alone_ = std::move(alone);
}

bool Devices::runs_several(int device) const {
  constexpr int kMpsEnabled = 133;  // of CUdevice_attribute; drivers before CUDA 12.2 have none
  int number = 0, several = 0;
  return get_device_ != nullptr && ask_device_ != nullptr && get_device_(&number, device) == 0 &&
         ask_device_(&several, kMpsEnabled, number) == 0 && several != 0;
}

Devices::Short Devices::short_copies() const {
  Short all = short_;
  for (const auto& [_, carrier] : carriers_)
    if (carrier.courier) all.carried += carrier.courier->carried();
  return all;
}

// A kernel is compiled, and a device taken for it, only where short copies are many. The processes
// of a device are not all known at first.
Courier* Devices::courier(int device, std::initializer_list<const Located*> places) {
  constexpr std::uint64_t kFirst = 32;
  constexpr std::uint64_t kAgain = 1024;
  ++short_.all;
  if (patience_.count() == 0) return nullptr;
  Carrier& carrier = carriers_[device];
  if (carrier.never) return nullptr;
  ++carrier.asked;
  if (!carrier.courier) {
    if (carrier.asked < kFirst) return nullptr;
    begin_courier(device, carrier);
    if (!carrier.courier) return nullptr;
  }
  if (carrier.courier->slow())
    end_courier(carrier, "its answers took long");
  else if (carrier.asked % kAgain == 0 && !alone_(device))
    end_courier(carrier, "processes that share the GPU take turns");
  // Memory of a pool, or mapped by hand, belongs to no context.
  for (const Located* const place : places)
    if (place->context != nullptr ? place->context != carrier.context : place->device != device)
      return nullptr;
  return carrier.courier.get();
}

// In a thread that captures a stream the driver would refuse what takes memory, or break the
// capture.
void Devices::begin_courier(int device, Carrier& carrier) {
  constexpr int kRelaxed = 2;
  int mode = kRelaxed;
  if (exchange_capture_mode_ != nullptr) exchange_capture_mode_(&mode);
  try {
    if (alone_(device)) {
      Device& of = accelerator().device(device);
      carrier.courier = std::make_unique<Courier>(of, patience_);
      const SlotBuffer own(of.memory(BufferKind::kDevice), 1, 1);
      carrier.context = locate(own.slot(0)).context;
    } else {
      end_courier(carrier, "processes that share the GPU take turns");
    }
  } catch (const std::exception& error) {
    const std::string text = error.what();
    end_courier(carrier, text.substr(0, text.find('\n')));
  }
  if (exchange_capture_mode_ != nullptr) exchange_capture_mode_(&mode);
}

void Devices::end_courier(Carrier& carrier, const std::string& why) {
  if (carrier.courier) short_.carried += carrier.courier->carried();
  carrier.courier.reset();
  carrier.never = true;
  short_.why_not = why;
}

void Devices::close_all() {
  opened_.clear();
  for (auto& [_, carrier] : carriers_) {
    if (carrier.courier) short_.carried += carrier.courier->carried();
    carrier.courier.reset();
  }
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
