// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/devices.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <utility>

#include "accel/abandoned.hpp"
#include "accel/library.hpp"

namespace nearpeak::layer {

bool Devices::load(std::string& why) {
  try {
    const Library library("NEARPEAK_CUDA_LIBRARY", {"libcuda.so.1"});
    own_memory_.find();
    if (!library.find(ask_, "cuPointerGetAttributes"))
      why = library.name() + " has no cuPointerGetAttributes";
    library.find(get_device_, "cuDeviceGet");
    library.find(ask_device_, "cuDeviceGetAttribute");
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

// cudaDeviceReset takes streams, kernels, memory and open handles with it. So each use of a device
// asks first, before it looks for any of these: 10 to 18 ns.
Device& Devices::device_of(int device) {
  if (looked_at_.index == device) return *looked_at_.device;
  if (accelerator().was_reset(device)) {
    abandon_all_of(device);
    accelerator().take_again(device);
    if (taken_again_) taken_again_(device);
  }
  Device& its = accelerator().device(device);
  if (looks_) looked_at_ = {device, &its};
  return its;
}

void Devices::abandon_reset() {
  if (!accelerator_) return;
  for (const DeviceInfo& info : accelerator_->devices())
    if (accelerator_->was_reset(info.index)) abandon_all_of(info.index);
}

void Devices::abandon_all_of(int device) {
  if (when_reset_) when_reset_(device);
  abandon(streams_[device]);
  for (auto& stream : begun_[device].streams) abandon(stream);
  begun_.erase(device);
  for (Lane& lane : lanes_) {
    if (lane.device != device) continue;
    abandon(lane.stream);
    lane.taken = false;
  }
  for (Opened& opened : opened_)
    if (opened.device == device) abandon(opened.memory);
  opened_.remove_if([](const Opened& opened) { return opened.memory == nullptr; });
  opened_chunks_.abandon_all_of(device);
  Carrier& carrier = carriers_[device];
  if (carrier.copy_kernel) short_.carried += carrier.copy_kernel->carried();
  abandon(carrier.copy_kernel);
  abandon(carrier.mover);
  abandon(carrier.batch_copier);
  for (auto& [_, reducer] : carrier.reducers) abandon(reducer);
  carriers_.erase(device);
  if (const auto landing = landing_.find(device); landing != landing_.end() && landing->second)
    landing->second->abandon();
  for (const Room room : {Room::kPlain, Room::kChunks}) stores_.erase({device, room});
  look_for_freed(handles_.size(), shown_chunks_.size());
}

// No more is asked of an allocation that was asked after before: no two have one number. (Of memory
// that is mapped by hand each mapping has one: benchmarks/recorded/mapped-memory-h200.txt.)
Located Devices::locate(const Found& found) {
  const void* const data = found.at;
  if (found.allocation != 0) {
    const Located& known = known_[found.allocation % kMostKnown];
    const auto offset =
        reinterpret_cast<std::uintptr_t>(data) - reinterpret_cast<std::uintptr_t>(known.base);
    if (known.allocation == found.allocation && offset < known.bytes) return known;
  }
  const auto located = accelerator().locate(data);
  if (!located) throw AcceleratorError("the driver does not know an address that it knew before");
  Device& device = device_of(located->device);
  if (patience_.count() > 0)
    if (Kernels* const kernels = device.kernels()) kernels->begin_persistent_copy();
  return (located->allocation != 0 ? known_[located->allocation % kMostKnown] : other_) = *located;
}

Located Devices::locate(const void* data) {
  Found found = find(data);
  found.at = data;  // also of memory of the host, which the driver may know
  return locate(found);
}

// Memory that is mapped by hand is one piece of several allocations.
bool Devices::in_one_piece(const Found& first, const Found& last) {
  const auto* const end = static_cast<const char*>(last.at);
  for (Found at = first; at.allocation != last.allocation;) {
    const Located place = locate(at);
    const char* const behind = static_cast<const char*>(place.base) + place.bytes;
    if (behind <= at.at || behind > end) return false;
    at = find(behind);
    if (!at.on_device) return false;
  }
  return true;
}

const std::string& Devices::uuid(int device) {
  return accelerator().devices().at(static_cast<std::size_t>(device)).uuid;
}

int Devices::seen(const std::string& uuid) {
  for (const DeviceInfo& info : accelerator().devices())
    if (info.uuid == uuid) return info.index;
  return -1;
}

bool Devices::reached_by(int device, const std::string& uuid) {
  const int other = seen(uuid);
  return other >= 0 && accelerator().reaches(other, device);
}

bool Devices::opens(int device, const std::string& uuid) {
  const int other = seen(uuid);
  return other >= 0 && accelerator().reaches(device, other);
}

bool Devices::opens(int device, const IpcHandle& handle) {
  if (handle.length == 0) return false;
  try {
    const auto opened = ipc_of(device_of(device)).open(handle);
  } catch (const AcceleratorAlreadyMapped&) {  // as a part of what is open
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

bool Devices::opens(int device, const IpcHandle& handle, const Key& begin) {
  if (handle.length == 0) return false;
  try {
    const auto opened = ipc_of(device_of(device)).open(handle);
    return begins_with(device, opened->data(), begin);
  } catch (const std::exception&) {
    return false;
  }
}

bool Devices::opens(int device, std::uint32_t rank, std::uint64_t allocation,
                    const Exported& chunks, const Key& begin) {
  try {
    const bool so = begins_with(device, opened(device, rank, allocation, chunks), begin);
    close(rank, allocation, chunks);
    return so;
  } catch (const std::exception&) {
    return false;
  }
}

bool Devices::begins_with(int device, const void* data, const Key& begin) {
  Key read{};
  copy(device, read.data(), data, read.size());
  return read == begin;
}

bool Devices::pinned(const void* data, std::size_t bytes) {
  const auto found = accelerator().locate(data);
  if (!found || found->kind != BufferKind::kPinned) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(data) -
                                               static_cast<const char*>(found->base));
  return offset + bytes <= found->bytes;
}

std::unique_ptr<RegisteredMemory> Devices::pin(int device, void* pages, std::size_t bytes) {
  return registration_of(device_of(device)).register_memory(pages, bytes);
}

void Devices::copy(int device, void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) device_of(device).copy(to, from, bytes);
}

void Devices::copy(int device, const std::vector<Piece>& pieces) {
  if (pieces.empty()) return;
  Device& of = device_of(device);
  auto& stream = streams_[device];
  if (!stream) stream = of.new_stream();
  for (const Piece& piece : pieces) of.copy_async(piece.to, piece.from, piece.bytes, *stream);
  stream->synchronize();
}

// The driver refuses copies that begin in pinned memory of the host and end behind it. Those go by
// way of memory of the layer's, and fail again where there is another reason.
void Devices::copy_to_host(const Located& place, void* host, const void* from, std::size_t bytes) {
  if (bytes > 0 && bytes <= CopyMailbox::kStaged)
    if (PersistentCopyKernel* const by = copy_kernel(place.device, {&place});
        by != nullptr && by->copy_to_host(host, from, bytes))
      return;
  try {
    copy(place.device, host, from, bytes);
  } catch (const AcceleratorError&) {
    const HostMemory between = host_memory_of(bytes);
    copy(place.device, between.get(), from, bytes);
    std::memcpy(host, between.get(), bytes);
  }
}

void Devices::copy_to_device(const Located& place, void* to, const void* host, std::size_t bytes) {
  if (bytes > 0 && bytes <= CopyMailbox::kStaged)
    if (PersistentCopyKernel* const by = copy_kernel(place.device, {&place});
        by != nullptr && by->copy_to_device(to, host, bytes))
      return;
  try {
    copy(place.device, to, host, bytes);
  } catch (const AcceleratorError&) {
    const HostMemory between = host_memory_of(bytes);
    std::memcpy(between.get(), host, bytes);
    copy(place.device, to, between.get(), bytes);
  }
}

void Devices::copy_between_devices(const Located& place, void* to, const Located& source,
                                   const void* from, std::size_t bytes) {
  if (bytes > 0 && bytes <= kShort)
    if (PersistentCopyKernel* const by = copy_kernel(place.device, {&place, &source});
        by != nullptr && by->copy_between_devices(to, from, bytes))
      return;
  copy(place.device, to, from, bytes);
}

void Devices::copy_between_devices(const Located& place, void* to, const Located& source,
                                   const void* from, std::size_t bytes, std::uint32_t rank) {
  if (!carry(place, to, source, from, bytes, rank)) copy(place.device, to, from, bytes);
}

bool Devices::carry(const Located& place, void* to, const Located& source, const void* from,
                    std::size_t bytes, std::uint32_t rank) {
  if (bytes == 0 || bytes > PersistentCopyKernel::kMost) return false;
  KernelCopyCrossover& crossover =
      crossovers_.try_emplace(rank, kShort, PersistentCopyKernel::kMost).first->second;
  const bool open = crossover.is_open(bytes);
  if (!open && !crossover.kernel_takes(bytes)) return false;
  PersistentCopyKernel* const by = copy_kernel(place.device, {&place, &source});
  if (by == nullptr || !by->copy_between_devices(to, from, bytes)) return false;
  if (open) ask(crossover, *by, place, to, from, bytes);
  return true;
}

// The same bytes again and again: the application has neither end yet. What the kernel does not do,
// or is far behind in, is the engine's.
void Devices::ask(KernelCopyCrossover& crossover, PersistentCopyKernel& by, const Located& place,
                  void* to, const void* from, std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTimes = 4;
  auto kernel = KernelCopyCrossover::Time::max(), engine = KernelCopyCrossover::Time::max();
  for (int i = 0; i < kTimes && (i == 0 || kernel / 2 < engine); ++i) {
    const auto begin = Clock::now();
    copy(place.device, to, from, bytes);
    const auto between = Clock::now();
    engine = std::min(engine, between - begin);
    if (!by.copy_between_devices(to, from, bytes)) break;
    ++short_.all;
    kernel = std::min(kernel, Clock::now() - between);
  }
  crossover.note(bytes, kernel, engine);
}

std::size_t Devices::begin_copy(const Located& place, void* to, const void* from,
                                std::size_t bytes) {
  Device& of = device_of(place.device);
  std::size_t free = kLanes;
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (lanes_[i].taken) continue;
    free = i;
    if (lanes_[i].stream && lanes_[i].device == place.device) break;
  }
  Lane& lane = lanes_.at(free);
  if (!lane.stream || lane.device != place.device) lane.stream = of.new_stream();
  lane.device = place.device;
  of.copy_async(to, from, bytes, *lane.stream);
  lane.taken = true;
  return free;
}

bool Devices::wait_copy(std::size_t lane) {
  Stream* const stream = lanes_[lane].stream.get();
  if (stream != nullptr) stream->synchronize();
  lanes_[lane].taken = false;
  return stream != nullptr;
}

void Devices::await_lanes() {
  if (begin_copies_) begin_copies_();
  for (const Lane& lane : lanes_)
    if (lane.taken) lane.stream->synchronize();
  for (const auto& [_, carrier] : carriers_)
    if (carrier.batch_copier) carrier.batch_copier->wait();
  await_begun();
}

void Devices::begin_copy_between_devices(const Located& place, void* to, const void* from,
                                         std::size_t bytes) {
  Device& of = device_of(place.device);
  Begun& begun = begun_[place.device];
  auto& stream = begun.streams.at(begun.copies++ % kLanes);
  if (!stream) stream = of.new_stream();
  of.copy_async(to, from, bytes, *stream);
}

void Devices::await_begun() {
  for (auto& [_, begun] : begun_) {
    for (std::size_t i = 0; i < std::min(begun.copies, kLanes); ++i)
      begun.streams.at(i)->synchronize();
    begun.copies = 0;
  }
}

bool Devices::takes_batch(const Located& place, const Located& source) {
  constexpr std::uint64_t kAgain = 1024;
  if (patience_.count() == 0) return false;
  Device& of = device_of(place.device);
  Carrier& carrier = carriers_[place.device];
  if (!carrier.batch_copier) begin_batch_copier(of, carrier);
  if (++carrier.batches_asked % kAgain == 0 && !alone_(place.device)) carrier.batches_never = true;
  return carrier.batch_copier && !carrier.batches_never && reaches(of, {&place, &source});
}

// Where kernels of several processes take turns a batch would wait for this one's turn.
void Devices::begin_batch_copier(Device& device, Carrier& carrier) {
  if (carrier.batches_never || !kernels_of(device).persistent_copy_ready()) return;
  try {
    if (alone_(device.info().index))
      carrier.batch_copier = std::make_unique<BatchCopier>(device);
    else
      carrier.batches_never = true;
  } catch (const std::exception&) {  // the persistent copy kernel says why
    carrier.batches_never = true;
  }
}

void Devices::begin_batch(int device, const CopyBatch& batch) {
  device_of(device);
  const auto& copier = carriers_[device].batch_copier;
  if (!copier) throw AcceleratorError("the device was reset while messages came");
  copier->begin(batch);
}

bool Devices::batch_ended(int device) {
  const auto& copier = carriers_[device].batch_copier;
  return !copier || copier->ended();  // none: the device was reset
}

bool Devices::wait_batch(int device) {
  const auto& copier = carriers_[device].batch_copier;
  if (copier) copier->wait();
  return copier != nullptr;
}

HostMemory Devices::landing(int device, std::size_t bytes) {
  if (bytes == 0 || bytes > LandingMemory::kMostOfPiece) return nullptr;
  Device& of = device_of(device);
  auto landing = landing_.find(device);
  if (landing == landing_.end()) {
    landing = landing_.emplace(device, nullptr).first;
    try {
      landing->second = std::make_unique<LandingMemory>();
    } catch (const std::exception&) {  // this process may map no more
    }
  }
  const bool there = landing->second && landing->second->pin(of);
  return there ? landing->second->take(bytes) : nullptr;
}

bool Devices::is_pinned(int device, const HostMemory& memory) {
  const auto landing = landing_.find(device);
  return memory && landing != landing_.end() && landing->second &&
         memory.get_deleter().lender == landing->second.get() &&
         landing->second->pin(device_of(device));
}

void Devices::copy_to_host(const Located& place, const std::vector<Piece>& pieces) {
  if (pieces.size() == 1) return copy_to_host(place, pieces[0].to, pieces[0].from, pieces[0].bytes);
  copy(place.device, pieces);
}

void Devices::copy_to_device(const Located& place, const std::vector<Piece>& pieces) {
  if (pieces.size() == 1)
    return copy_to_device(place, pieces[0].to, pieces[0].from, pieces[0].bytes);
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
  Short copies = short_;
  copies.carried = carried();
  return copies;
}

std::uint64_t Devices::carried() const {
  std::uint64_t carried = short_.carried;
  for (const auto& [_, carrier] : carriers_)
    if (carrier.copy_kernel) carried += carrier.copy_kernel->carried();
  return carried;
}

// It takes memory that is pinned, and a stream, only where short copies are many. The processes of
// a device are not all known at first.
PersistentCopyKernel* Devices::copy_kernel(int device,
                                           std::initializer_list<const Located*> places) {
  constexpr std::uint64_t kFirst = 32;
  constexpr std::uint64_t kAgain = 1024;
  ++short_.all;
  if (patience_.count() == 0) return nullptr;
  Device& of = device_of(device);
  Carrier& carrier = carriers_[device];
  if (carrier.never) return nullptr;
  ++carrier.asked;
  if (!carrier.copy_kernel) {
    if (carrier.asked < kFirst || !kernels_of(of).persistent_copy_ready()) return nullptr;
    begin_persistent_copy(of, carrier);
    if (!carrier.copy_kernel) return nullptr;
  }
  if (carrier.copy_kernel->slow())
    end_persistent_copy(carrier, "its answers took long");
  else if (carrier.asked % kAgain == 0 && !alone_(device))
    end_persistent_copy(carrier, "processes that share the GPU take turns");
  return reaches(of, places) ? carrier.copy_kernel.get() : nullptr;
}

void Devices::begin_persistent_copy(Device& device, Carrier& carrier) {
  try {
    if (alone_(device.info().index)) {
      carrier.copy_kernel = std::make_unique<PersistentCopyKernel>(device, patience_);
    } else {
      end_persistent_copy(carrier, "processes that share the GPU take turns");
    }
  } catch (const std::exception& error) {
    const std::string text = error.what();
    end_persistent_copy(carrier, text.substr(0, text.find('\n')));
  }
}

// Whether kernels of this device reach memory. That of a pool, or mapped by hand, belongs to no
// context.
bool Devices::reaches(Device& device, std::initializer_list<const Located*> places) {
  const void* const context = device.own_context();
  const int index = device.info().index;
  return std::all_of(places.begin(), places.end(), [&](const Located* place) {
    return place->context != nullptr ? place->context == context : place->device == index;
  });
}

// So many blocks, each copied by itself, take longer than the compiler needs.
BlockMover* Devices::mover(int device, const Layout& layout,
                           std::initializer_list<const Located*> places) {
  constexpr std::uint64_t kLeast = 4;
  constexpr std::uint64_t kWorthWaiting = 1024;
  if (patience_.count() == 0 || layout.blocks() < kLeast || !BlockMover::takes(layout))
    return nullptr;
  Device& of = device_of(device);
  Carrier& carrier = carriers_[device];
  if (!carrier.mover) {
    if (carrier.moves_never ||
        (layout.blocks() < kWorthWaiting && !kernels_of(of).persistent_copy_ready()))
      return nullptr;
    begin_mover(of, carrier);
    if (!carrier.mover) return nullptr;
  }
  return reaches(of, places) ? carrier.mover.get() : nullptr;
}

void Devices::begin_mover(Device& device, Carrier& carrier) {
  try {
    carrier.mover = std::make_unique<BlockMover>(device);
  } catch (const std::exception&) {  // the persistent copy kernel says why
    carrier.moves_never = true;
  }
}

Scratch Devices::copied(const Located& place, const void* data, std::size_t bytes) {
  Scratch copy = scratch(place.device, bytes);
  if (copy) copy_between_devices(copy.place(), copy.data(), place, data, bytes);
  return copy;
}

Scratch Devices::pack(const Located& place, const Layout& layout, const void* data) {
  BlockMover* const by = mover(place.device, layout, {&place});
  Scratch packed = by != nullptr ? scratch(place.device, layout.bytes()) : Scratch();
  if (!packed) return packed;
  ++moved_by_kernel_;
  by->pack(packed.data(), layout, data, layout.bytes());
  return packed;
}

bool Devices::unpack(const Located& place, const Layout& layout, void* data, const Located& source,
                     const void* packed, std::size_t bytes) {
  if (bytes == 0) return true;
  BlockMover* const by = mover(place.device, layout, {&place, &source});
  if (by == nullptr) return false;
  ++moved_by_kernel_;
  by->unpack(layout, data, packed, bytes);
  return true;
}

bool Devices::unpack_from_host(const Located& place, const Layout& layout, void* data,
                               const void* packed, std::size_t bytes) {
  if (bytes == 0) return true;
  BlockMover* const by = mover(place.device, layout, {&place});
  const Scratch there = by != nullptr ? scratch(place.device, bytes) : Scratch();
  if (!there) return false;
  ++moved_by_kernel_;
  copy_to_device(there.place(), there.data(), packed, bytes);
  by->unpack(layout, data, there.data(), bytes);
  return true;
}

bool Devices::copy_from_host(const Located& place, const Layout& layout, void* data,
                             const void* from) {
  BlockMover* const by = mover(place.device, layout, {&place});
  const std::int64_t low = layout.low();
  const auto bytes = static_cast<std::size_t>(layout.high() - low);
  const Scratch there = by != nullptr ? scratch(place.device, bytes) : Scratch();
  if (!there) return false;
  ++moved_by_kernel_;
  copy_to_device(there.place(), there.data(), static_cast<const char*>(from) + low, bytes);
  by->copy(layout, data, there.data() - low);
  return true;
}

bool Devices::reduces(const Located& place, const Combination& reduction, std::size_t bytes) {
  // Through shadows such a collective takes hundreds of microseconds more, each time.
  constexpr std::size_t kWorthWaiting = std::size_t{256} << 10;
  if (patience_.count() == 0 || !reduction.known()) return false;
  const Combination made = reduction.alike();
  Device& device = device_of(place.device);
  Carrier& carrier = carriers_[place.device];
  auto known = carrier.reducers.find(made);
  if (known == carrier.reducers.end()) {
    Kernels& kernels = kernels_of(device);
    kernels.begin_reduction(made);
    if (bytes < kWorthWaiting && !kernels.reduction_ready(made)) return false;
    std::unique_ptr<Reducer> reducer;
    try {
      reducer = std::make_unique<Reducer>(device, made);
    } catch (const std::exception&) {  // there is no compiler: the persistent copy kernel says why
    }
    known = carrier.reducers.emplace(made, std::move(reducer)).first;
  }
  return known->second && reaches(device, {&place});
}

void Devices::reduce(const Located& place, const Combination& reduction, void* to,
                     const std::vector<const void*>& from, std::size_t count) {
  carriers_.at(place.device).reducers.at(reduction.alike())->reduce(to, from, count);
}

Scratch::~Scratch() {
  if (data_ != nullptr) devices_->give_back(place_, data_);
}

// Null where the driver has none of it.
Memory* Devices::memory_for(int device, Room room) {
  Device& of = device_of(device);
  return room == Room::kPlain ? &of.memory(BufferKind::kDevice) : of.memory_from(kOneChunk);
}

Scratch Devices::scratch(int device, std::size_t bytes, Room room) {
  constexpr std::size_t kLeast = std::size_t{64} << 10, kLeastChunk = std::size_t{2} << 20;
  if (bytes > kMostScratch) return {};
  const std::size_t least =
      std::bit_ceil(std::max(bytes, room == Room::kPlain ? kLeast : kLeastChunk));
  Memory* const memory = memory_for(device, room);
  if (memory == nullptr) return {};
  Store& store = stores_[{device, room}];
  void* data = nullptr;
  if (const auto found = store.free.find(least); found != store.free.end()) {
    data = found->second;
    store.free.erase(found);
  } else {
    if (store.all + least > kMostScratch) {
      for (const auto& [size, unused] : store.free) {
        memory->release(unused);
        store.parts.erase(unused);
        store.all -= size;
      }
      store.free.clear();
    }
    if (store.all + least > kMostScratch) return {};
    try {
      data = memory->allocate(least);
    } catch (const std::bad_alloc&) {
      return {};
    }
    store.all += least;
  }
  const Located place = locate(data);
  store.parts[data] = {least, place.allocation};
  return {*this, place, data};
}

void Devices::give_back(const Located& place, void* data) {
  Store& store = stores_[{place.device, place.is_chunk ? Room::kChunks : Room::kPlain}];
  const auto part = store.parts.find(data);
  // Else the device was reset since: another part may be at this address.
  if (part != store.parts.end() && part->second.allocation == place.allocation)
    store.free.emplace(part->second.bytes, data);
}

void Devices::end_persistent_copy(Carrier& carrier, const std::string& why) {
  if (carrier.copy_kernel) short_.carried += carrier.copy_kernel->carried();
  carrier.copy_kernel.reset();
  carrier.never = true;
  short_.why_not = why;
}

void Devices::close_all() {
  abandon_reset();
  await_lanes();
  for (Lane& lane : lanes_) lane.stream.reset();
  begun_.clear();
  for (auto& [_, landing] : landing_)
    if (landing) landing->unpin();
  opened_.clear();
  opened_chunks_.clear();
  shown_chunks_.clear();
  for (auto& [_, carrier] : carriers_) {
    if (carrier.copy_kernel) short_.carried += carrier.copy_kernel->carried();
    carrier.copy_kernel.reset();
    carrier.mover.reset();
    carrier.batch_copier.reset();
    carrier.reducers.clear();
    carrier.never = carrier.moves_never = carrier.batches_never = true;
  }
  for (auto& [which, store] : stores_) {
    for (const auto& [_, data] : store.free) memory_for(which.first, which.second)->release(data);
    store = {};
  }
}

}  // namespace nearpeak::layer
