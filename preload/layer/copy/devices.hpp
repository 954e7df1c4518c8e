// SPDX-License-Identifier: Apache-2.0
// The devices of this process: where buffers are, and copies between any two. One thread at a time,
// but for find(). What fails throws AcceleratorError or std::bad_alloc.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accel/accelerator.hpp"
#include "accel/batch_copier.hpp"
#include "accel/block_mover.hpp"
#include "accel/layout.hpp"
#include "accel/persistent_copy_kernel.hpp"
#include "accel/reducer.hpp"
#include "layer/copy/exported.hpp"
#include "layer/copy/kernel_copy_crossover.hpp"
#include "layer/copy/key.hpp"
#include "layer/copy/landing_memory.hpp"
#include "layer/copy/opened_chunks.hpp"
#include "layer/copy/own_memory.hpp"
#include "layer/copy/shown_chunks.hpp"

namespace nearpeak::layer {

// What one question to the driver tells of an address.
struct Found {
  bool on_device = false;        // where the CPU does not reach it: of its memory
  bool managed = false;          // where both do
  std::uint64_t allocation = 0;  // its number
  const void* at = nullptr;      // of what was asked
};

class Devices;

// Memory of a device that the layer has for a while. It goes back at its end.
class Scratch {
 public:
  Scratch() = default;
  Scratch(Devices& devices, Located place, void* data)
      : devices_(&devices), place_(place), data_(data) {}
  Scratch(Scratch&& other) noexcept { *this = std::move(other); }
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(devices_, other.devices_);
    std::swap(place_, other.place_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Scratch();

  explicit operator bool() const { return data_ != nullptr; }
  const Located& place() const { return place_; }
  char* data() const { return static_cast<char*>(data_); }

 private:
  Devices* devices_ = nullptr;
  Located place_;
  void* data_ = nullptr;
};

// Memory of this process as others reach it.
struct Shown {
  std::uint64_t allocation = 0;  // the number of it, or of the first of its chunks
  std::uint64_t offset = 0;      // of the data in it
  Exported exported;
  ShownChunks::Kept kept;  // others may open it while this is there
};

// A copy.
struct Piece {
  void* to;
  const void* from;
  std::size_t bytes;
};

class Devices {
 public:
  // Loads the driver, which takes no device and no memory of one. False where there is none, and
  // why.
  bool load(std::string& why);
  bool loaded() const { return ask_ != nullptr; }

  // Where a buffer is. All at once, and by the one function that takes an address of which the
  // driver knows nothing for no error: to make one takes ten times as long. Nothing is remembered,
  // as an address can be the host's and a device's in turn without the layer seeing it.
  Found find(const void* data) const {
    Found found;
    if (ask_ == nullptr || data == nullptr || own_memory_.has(data)) return found;
    unsigned type = 0, managed = 0;
    constexpr std::array kAsked{kMemoryType, kIsManaged, kBufferId};
    const std::array<void*, kAsked.size()> answers{&type, &managed, &found.allocation};
    if (ask_(kAsked.size(), kAsked.data(), answers.data(), data) != 0) return {};
    found.on_device = type == kTypeOfDevice && managed == 0;
    found.managed = managed != 0;
    found.at = data;
    return found;
  }
  // Whether all between these two, which are on a device, is mapped.
  bool in_one_piece(const Found& first, const Found& last);

  // A look at several messages: the driver is asked once whether a device was reset, as no call of
  // the application's thread comes between.
  class Look {
   public:
    explicit Look(Devices& devices) : devices_(devices) { devices_.looks_ = true; }
    ~Look() {
      devices_.looks_ = false;
      devices_.looked_at_ = {};
    }
    Look(const Look&) = delete;
    Look& operator=(const Look&) = delete;

   private:
    Devices& devices_;
  };

  // More of what is on a device.
  Located locate(const Found& found);
  Located locate(const void* data);
  const std::string& uuid(int device);
  // Whether the device that another process says it has can open memory of this one.
  bool reached_by(int device, const std::string& uuid);
  // One of another process: which this one sees it as, or -1; whether a device of this one reaches
  // its memory.
  int seen(const std::string& uuid);
  bool opens(int device, const std::string& uuid);
  // Whether it opens memory of another process, of whatever device. It is closed again.
  bool opens(int device, const IpcHandle& handle);
  // The same, and whether it begins with these bytes; and of memory in chunks.
  bool opens(int device, const IpcHandle& handle, const Key& begin);
  bool opens(int device, std::uint32_t rank, std::uint64_t allocation, const Exported& chunks,
             const Key& begin);
  // The driver tells of a device that this process sees; of another one it is tried.
  bool opens(int device, const std::string& uuid, const IpcHandle& handle) {
    return seen(uuid) >= 0 ? opens(device, uuid) : opens(device, handle);
  }

  // Copies from a device to host memory, to a device, and between devices by that of the target.
  // Short ones are carried by a kernel, where one is there: up to kShort bytes between devices.
  static constexpr std::size_t kShort = std::size_t{64} << 10;
  void copy_to_host(const Located& place, void* host, const void* from, std::size_t bytes);
  void copy_to_device(const Located& place, void* to, const void* host, std::size_t bytes);
  void copy_between_devices(const Located& place, void* to, const Located& source, const void* from,
                            std::size_t bytes);
  // Memory of a rank to a device by a kernel, up to where that is the faster way; false where none
  // does it. That is found with the first copies, which are made some times then.
  bool carry(const Located& place, void* to, const Located& source, const void* from,
             std::size_t bytes, std::uint32_t rank);
  // The same, by the copy engine where no kernel does it.
  void copy_between_devices(const Located& place, void* to, const Located& source, const void* from,
                            std::size_t bytes, std::uint32_t rank);
  // By rank.
  const std::map<std::uint32_t, KernelCopyCrossover>& crossovers() const { return crossovers_; }
  // A long one between devices that goes on beside others: which of these lanes it has until
  // wait_copy(), which waits for it. False: the device was reset meanwhile.
  static constexpr std::size_t kLanes = 4;
  std::size_t begin_copy(const Located& place, void* to, const void* from, std::size_t bytes);
  // A reset of the device ends a copy, too.
  bool copy_ended(std::size_t lane) {
    return !lanes_[lane].stream || lanes_[lane].stream->finished();
  }
  bool wait_copy(std::size_t lane);
  // The same without a lane, of any number, until all of them have been awaited.
  void begin_copy_between_devices(const Located& place, void* to, const void* from,
                                  std::size_t bytes);
  void await_begun();
  // Many copies within what kernels of the place's device reach, by one kernel, that go on until
  // batch_ended() or wait_batch(), one batch of a device at a time. takes_batch(): whether a kernel
  // is ready that does it.
  bool takes_batch(const Located& place, const Located& source);
  void begin_batch(int device, const CopyBatch& batch);
  bool batch_ended(int device);
  bool wait_batch(int device);  // false: the device was reset meanwhile
  // Host memory for a message to or from a device, from and to which it copies fast. Empty where
  // there is no more, and for long messages.
  HostMemory landing(int device, std::size_t bytes);
  // Whether it is such memory, and pinned.
  bool is_pinned(int device, const HostMemory& memory);
  // All of these are under way together, where there are several.
  void copy_to_host(const Located& place, const std::vector<Piece>& pieces);
  void copy_to_device(const Located& place, const std::vector<Piece>& pieces);

  // A copy of memory of this device in memory of the layer's, there. Empty where it has no room.
  Scratch copied(const Located& place, const void* data, std::size_t bytes);

  // What lies regularly, packed into memory of this device, out of that of any that its kernels
  // reach, or copied into the same places from the host, where it lies alike from `from` on; by a
  // kernel. Empty or false where none does it: there is none, or not yet and it is worth no
  // waiting, or it does not reach the memory, or the device has no room.
  Scratch pack(const Located& place, const Layout& layout, const void* data);
  bool unpack(const Located& place, const Layout& layout, void* data, const Located& source,
              const void* packed, std::size_t bytes);
  bool unpack_from_host(const Located& place, const Layout& layout, void* data, const void* packed,
                        std::size_t bytes);
  bool copy_from_host(const Located& place, const Layout& layout, void* data, const void* from);
  std::uint64_t moved_by_kernel() const { return moved_by_kernel_; }

  // Several copies to a device out of what it reaches, under way together: each begins beside those
  // before it, as they may come by other links.
  void copy_between_devices(const Located& place, const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces)
      begin_copy_between_devices(place, piece.to, piece.from, piece.bytes);
    await_begun();
  }
  // Whether a kernel of the place's device combines vectors of so many bytes there: it is ready, or
  // they are worth waiting for it.
  bool reduces(const Located& place, const Combination& reduction, std::size_t bytes);
  // Then: those that the device reaches, as Reducer does.
  void reduce(const Located& place, const Combination& reduction, void* to,
              const std::vector<const void*>& from, std::size_t count);

  // Memory of a device, from its start; empty where there is no more.
  enum class Room : std::uint8_t { kPlain, kChunks };
  Scratch scratch(int device, std::size_t bytes) { return scratch(device, bytes, room_); }
  Scratch scratch(int device, std::size_t bytes, Room room);
  // From now on all of it is of this kind, if nothing else is asked for.
  void use_room(Room room) { room_ = room; }

  // From now on kernels pack, and may carry short copies, which wait so long for work, if
  // `alone(device)` says that no other process's kernels take turns with them. They are compiled
  // beside all else from when a buffer of a device is seen, and begun when it is worth it.
  void use_kernels(std::chrono::microseconds patience, std::function<bool(int device)> alone);
  // Whether kernels of several processes run on a device at once, as those under MPS do.
  bool runs_several(int device) const;
  // Short copies, how many of them kernels carried, and why none did or does, if it is known.
  struct Short {
    std::uint64_t all = 0;
    std::uint64_t carried = 0;
    std::string why_not;
  };
  Short short_copies() const;
  std::uint64_t carried() const;  // by kernels

  // Of the application, in this thread; -1: none, or not known.
  int current() const {
    int device = -1;
    return ask_current_ != nullptr && ask_current_(&device) == 0 ? device : -1;
  }
  // Whether the driver has pinned these bytes of the host.
  bool pinned(const void* data, std::size_t bytes);
  // Whole pages.
  std::unique_ptr<RegisteredMemory> pin(int device, void* pages, std::size_t bytes);
  // A device, taken again first where the application has reset it.
  Device& device_of(int device);

  // Valid until another one is asked for.
  const Exported& handle_of(const Located& memory);
  // Shows others the bytes from `data` on. Nothing if they cannot open this memory.
  std::optional<Shown> show(const Located& memory, const void* data, std::size_t bytes);
  // Of them, while they are there.
  ChunkQuestions chunk_questions();
  // From now on memory in chunks is shown in this table, and opened where others show it: null
  // where a rank shows none.
  void share_chunks(ChunkTable& own, std::function<ChunkOwner(std::uint32_t rank)> owners);
  // From now on this process, `self` of all ranks, tells the others what is freed of that, and
  // closes what they have freed. `freed(rank)`: where one tells it, or null.
  void tell_of_freed(std::function<Freed*(std::uint32_t rank)> freed, std::uint32_t self);
  // Where this process finds an allocation of another rank, opened by `device`. To copies it is
  // place_of_opened(). Valid until kMostOpened others were asked for, or the rank frees it.
  static Located place_of_opened(int device, const Exported& exported = {}) {
    Located place{.kind = BufferKind::kDevice, .device = device};
    place.is_chunk = exported.chunks > 0;
    return place;
  }
  // Whether one copy goes between these: memory that is mapped by hand, or a pool's, is reached by
  // the devices that were given access alone, which of others is not known.
  static bool is_one_copy(const Located& to, const Located& from) {
    const auto is_given = [](const Located& place) {
      return place.is_chunk || (place.context == nullptr && place.base != nullptr);
    };
    return to.device == from.device || (!is_given(to) && !is_given(from));
  }
  char* opened(int device, std::uint32_t rank, std::uint64_t allocation, const Exported& exported);
  // It is opened anew where it is asked for again.
  void close(std::uint32_t rank, std::uint64_t allocation);
  void close(std::uint32_t rank, std::uint64_t allocation, const Exported& exported);
  void close_all();

  // From now on abandons what others hold of a device, too, where the application has reset it, and
  // calls `taken_again` when it is taken again.
  void when_reset(std::function<void(int device)> abandon,
                  std::function<void(int device)> taken_again) {
    when_reset_ = std::move(abandon);
    taken_again_ = std::move(taken_again);
  }
  // From now on calls this before memory of another rank is closed: who has taken note of its place
  // and not yet begun the copy begins it then. It opens none.
  void when_closing(std::function<void()> begin_copies) { begin_copies_ = std::move(begin_copies); }
  // Before the end: of devices that were reset nothing may be destroyed.
  void abandon_reset();

 private:
  friend class Scratch;
  using Question = int (*)(unsigned count, const int* attributes, void* const* answers,
                           const void* address);
  using CurrentQuestion = int (*)(int* device);
  // CUpointer_attribute and CUmemorytype.
  static constexpr int kMemoryType = 2;
  static constexpr int kBufferId = 7;
  static constexpr int kIsManaged = 8;
  static constexpr unsigned kTypeOfDevice = 2;

  struct Opened {
    int device;
    std::uint32_t rank;
    std::uint64_t allocation;
    std::uint64_t base;  // as the rank calls it
    std::uint64_t bytes;
    std::unique_ptr<OpenedMemory> memory;
    std::uint64_t last = 0;  // its use
  };
  static constexpr std::size_t kMostOpened = 64;
  // Of a device's memory one part in so many may be that of allocations which were not used for
  // long, by uses of others: their owners may have freed them.
  static constexpr std::uint64_t kPartOpened = 16;
  static constexpr std::uint64_t kLong = 256;
  static constexpr std::uint64_t kSeldom = 16;  // messages, of which one looks for what was freed
  static constexpr std::size_t kMostHandles = 1024;
  static constexpr std::size_t kMostKnown = 64;

  // What carries short copies on a device.
  struct Carrier {
    std::unique_ptr<PersistentCopyKernel> copy_kernel;
    std::unique_ptr<BlockMover> mover;
    std::unique_ptr<BatchCopier> batch_copier;
    std::map<Combination, std::unique_ptr<Reducer>> reducers;  // null: it cannot be made
    std::uint64_t asked = 0;
    bool never = false;
    bool moves_never = false;
    std::uint64_t batches_asked = 0;
    bool batches_never = false;
  };
  static constexpr std::size_t kMostScratch = std::size_t{1} << 30;  // of a device

  Accelerator& accelerator();
  void abandon_all_of(int device);
  void copy(int device, void* to, const void* from, std::size_t bytes);
  void copy(int device, const std::vector<Piece>& pieces);
  bool begins_with(int device, const void* data, const Key& begin);
  void ask(KernelCopyCrossover& crossover, PersistentCopyKernel& by, const Located& place, void* to,
           const void* from, std::size_t bytes);
  // Null where the copy engine is to do a short copy from or to memory of this process.
  PersistentCopyKernel* copy_kernel(int device, std::initializer_list<const Located*> places);
  void begin_persistent_copy(Device& device, Carrier& carrier);
  // Null where no kernel moves so many blocks.
  BlockMover* mover(int device, const Layout& layout, std::initializer_list<const Located*> places);
  void begin_mover(Device& device, Carrier& carrier);
  void begin_batch_copier(Device& device, Carrier& carrier);
  bool reaches(Device& device, std::initializer_list<const Located*> places);
  void await_lanes();
  void give_back(const Located& place, void* data);
  Memory* memory_for(int device, Room room);
  void end_persistent_copy(Carrier& carrier, const std::string& why);
  void close_if(const std::function<bool(const Opened&)>& which);
  void close_freed();
  void make_room(int device, std::uint64_t bytes);
  std::unique_ptr<OpenedMemory> open(int device, std::uint32_t rank, const Exported& exported);
  char* opened_in_chunks(int device, std::uint32_t rank, const Exported& exported);
  std::uint64_t most_opened(int device);
  void look_for_freed(std::size_t few, std::size_t few_chunks);
  void tell_freed(std::uint64_t allocation);

  OwnMemory own_memory_;
  Question ask_ = nullptr;
  int (*get_device_)(int* device, int index) = nullptr;
  int (*ask_device_)(int* answer, int attribute, int device) = nullptr;
  CurrentQuestion ask_current_ = nullptr;
  std::unique_ptr<Accelerator> accelerator_;
  bool looks_ = false;  // within a Look
  struct {
    int index = -1;
    Device* device = nullptr;
  } looked_at_;                                     // there: the device that was asked after last
  std::map<int, std::unique_ptr<Stream>> streams_;  // by device
  std::map<std::uint64_t, Exported> handles_;       // by allocation
  std::uint64_t looked_ = 0;                        // the last of them that was looked for
  std::uint64_t asked_ = 0;                         // how often for one of them
  std::function<Freed*(std::uint32_t)> freed_;
  std::uint32_t self_ = 0;
  std::map<std::uint32_t, std::uint64_t> seen_freed_;  // of a rank, how many
  std::map<std::uint32_t, std::uint64_t> missed_;  // uses when a rank had freed too many to tell
  std::array<Located, kMostKnown> known_;          // each at the place of its allocation
  Located other_;
  std::list<Opened> opened_;  // the last used first
  ShownChunks shown_chunks_{chunk_questions()};
  OpenedChunks opened_chunks_{[this] { await_lanes(); }};
  std::function<ChunkOwner(std::uint32_t)> chunk_owners_;
  std::uint64_t uses_ = 0;
  std::chrono::microseconds patience_{0};
  std::function<bool(int)> alone_;
  std::function<void(int)> when_reset_;
  std::function<void(int)> taken_again_;
  std::function<void()> begin_copies_;
  std::map<int, Carrier> carriers_;                        // by device
  std::map<int, std::unique_ptr<LandingMemory>> landing_;  // by device; null: there is none
  std::map<std::uint32_t, KernelCopyCrossover> crossovers_;
  // By device: memory that nobody has now, by its bytes, and what there is in all.
  struct Part {
    std::size_t bytes = 0;
    std::uint64_t allocation = 0;
  };
  struct Store {
    std::multimap<std::size_t, void*> free;
    std::map<void*, Part> parts;  // of all
    std::size_t all = 0;
  };
  std::map<std::pair<int, Room>, Store> stores_;
  Room room_ = Room::kPlain;
  std::uint64_t moved_by_kernel_ = 0;
  struct Lane {
    int device = 0;
    std::unique_ptr<Stream> stream;
    bool taken = false;
  };
  std::array<Lane, kLanes> lanes_;
  // Of copies that were begun, by device: each takes the next one.
  struct Begun {
    std::array<std::unique_ptr<Stream>, kLanes> streams;
    std::size_t copies = 0;  // that were not awaited
  };
  std::map<int, Begun> begun_;
  Short short_;
};

}  // namespace nearpeak::layer
