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
#include <string>
#include <utility>
#include <vector>

#include "accel/accelerator.hpp"
#include "accel/courier.hpp"

namespace nearpeak::layer {

// What one question to the driver tells of an address.
struct Found {
  bool on_device = false;        // where the CPU does not reach it: of its memory
  std::uint64_t allocation = 0;  // its number,
  void* context = nullptr;       // and that which it belongs to, if any
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
    if (ask_ == nullptr || data == nullptr) return found;
    unsigned type = 0, managed = 0;
    constexpr std::array kAsked{kMemoryType, kIsManaged, kBufferId, kContext};
    const std::array<void*, kAsked.size()> answers{&type, &managed, &found.allocation,
                                                   &found.context};
    if (ask_(kAsked.size(), kAsked.data(), answers.data(), data) != 0) return {};
    found.on_device = type == kTypeOfDevice && managed == 0;
    return found;
  }

  // More of what is on a device.
  const Located& locate(const void* data, const Found& found);
  Located locate(const void* data) { return locate(data, find(data)); }
  const std::string& uuid(int device);
  // Whether the device that another process says it has can open memory of this one.
  bool reached_by(int device, const std::string& uuid);

  // Copies from a device to host memory, to a device, and between devices by that of the target.
  // Short ones are carried by a kernel, where one is there.
  void down(const Located& place, void* host, const void* from, std::size_t bytes);
  void up(const Located& place, void* to, const void* host, std::size_t bytes);
  void across(const Located& place, void* to, const Located& source, const void* from,
              std::size_t bytes);
  // All of these are under way together, where there are several.
  void down(const Located& place, const std::vector<Piece>& pieces);
  void up(const Located& place, const std::vector<Piece>& pieces);

  // From now on kernels may carry short copies, which wait so long for work, if `alone(device)`
  // says that no other process's kernels take turns with them. They are begun when it is worth it.
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

  // Of the application, in this thread; -1: none, or not known.
  int current() const {
    int device = -1;
    return ask_current_ != nullptr && ask_current_(&device) == 0 ? device : -1;
  }
  // Whether the driver has pinned these bytes of the host.
  bool pinned(const void* data, std::size_t bytes);
  // Whole pages.
  std::unique_ptr<RegisteredMemory> pin(int device, void* pages, std::size_t bytes);
  Device& device(int index) { return accelerator().device(index); }

  IpcHandle handle_of(const Located& memory);
  // Where this process finds an allocation of another rank, opened by `device`. To copies it is
  // place_of_opened(device).
  static Located place_of_opened(int device) {
    return {.kind = BufferKind::kDevice, .device = device};
  }
  char* opened(int device, std::uint32_t rank, std::uint64_t allocation, const IpcHandle& handle);
  void close_all();

 private:
  using Question = int (*)(unsigned count, const int* attributes, void* const* answers,
                           const void* address);
  using CurrentQuestion = int (*)(int* device);
  // CUpointer_attribute and CUmemorytype.
  static constexpr int kContext = 1;
  static constexpr int kMemoryType = 2;
  static constexpr int kBufferId = 7;
  static constexpr int kIsManaged = 8;
  static constexpr unsigned kTypeOfDevice = 2;

  struct Opened {
    std::pair<std::uint32_t, std::uint64_t> name;  // rank and allocation
    std::unique_ptr<OpenedMemory> memory;
  };
  static constexpr std::size_t kMostOpened = 64;
  static constexpr std::size_t kMostHandles = 1024;
  static constexpr std::size_t kMostKnown = 64;

  // What carries short copies on a device.
  struct Carrier {
    std::unique_ptr<Courier> courier;
    void* context = nullptr;  // whose memory its kernel reaches
    std::uint64_t asked = 0;
    bool never = false;
  };

  Accelerator& accelerator();
  void copy(int device, void* to, const void* from, std::size_t bytes);
  void copy(int device, const std::vector<Piece>& pieces);
  // Null where the copy engine is to do a short copy from or to memory of this process.
  Courier* courier(int device, std::initializer_list<const Located*> places);
  void begin_courier(int device, Carrier& carrier);
  void end_courier(Carrier& carrier, const std::string& why);
  std::unique_ptr<OpenedMemory> open(int device, std::uint32_t rank, const IpcHandle& handle);

  Question ask_ = nullptr;
  int (*get_device_)(int* device, int index) = nullptr;
  int (*ask_device_)(int* answer, int attribute, int device) = nullptr;
  int (*exchange_capture_mode_)(int* mode) = nullptr;
  CurrentQuestion ask_current_ = nullptr;
  std::unique_ptr<Accelerator> accelerator_;
  std::map<int, std::unique_ptr<Stream>> streams_;  // by device
  std::map<std::uint64_t, IpcHandle> handles_;      // by allocation
  std::array<Located, kMostKnown> known_;           // each at the place of its allocation
  Located other_;
  std::list<Opened> opened_;  // the last used first
  std::chrono::microseconds patience_{0};
  std::function<bool(int)> alone_;
  std::map<int, Carrier> carriers_;  // by device
  Short short_;
};

}  // namespace nearpeak::layer
