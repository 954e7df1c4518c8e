// SPDX-License-Identifier: Apache-2.0
// The devices of this process: where buffers are, and copies between any two. One thread at a time,
// but for on_device(). What fails throws AcceleratorError or std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "accel/accelerator.hpp"

namespace nearpeak::layer {

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

  // Whether a buffer is where the CPU does not reach it.
  bool on_device(const void* data) const {
    if (ask_ == nullptr || data == nullptr) return false;
    unsigned type = 0;  // an address that the driver does not know is the host's
    if (ask_(&type, kMemoryType, data) != 0 || type != kTypeOfDevice) return false;
    unsigned managed = 0;
    return ask_(&managed, kIsManaged, data) != 0 || managed == 0;
  }

  Located locate(const void* data);
  const std::string& uuid(int device);
  // Whether the device that another process says it has can open memory of this one.
  bool reached_by(int device, const std::string& uuid);

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

  void copy(int device, void* to, const void* from, std::size_t bytes);
  // All of these are under way together.
  void copy(int device, const std::vector<Piece>& pieces);
  IpcHandle handle_of(const Located& memory);
  // Where this process finds an allocation of another rank, opened by `device`.
  char* opened(int device, std::uint32_t rank, std::uint64_t allocation, const IpcHandle& handle);
  void close_all() { opened_.clear(); }

 private:
  using Question = int (*)(void* answer, int attribute, const void* address);
  using CurrentQuestion = int (*)(int* device);
  // CUpointer_attribute and CUmemorytype.
  static constexpr int kMemoryType = 2;
  static constexpr int kIsManaged = 8;
  static constexpr unsigned kTypeOfDevice = 2;

  struct Opened {
    std::pair<std::uint32_t, std::uint64_t> name;  // rank and allocation
    std::unique_ptr<OpenedMemory> memory;
  };
  static constexpr std::size_t kMostOpened = 64;
  static constexpr std::size_t kMostHandles = 1024;

  Accelerator& accelerator();
  std::unique_ptr<OpenedMemory> open(int device, std::uint32_t rank, const IpcHandle& handle);

  Question ask_ = nullptr;
  CurrentQuestion ask_current_ = nullptr;
  std::unique_ptr<Accelerator> accelerator_;
  std::map<int, std::unique_ptr<Stream>> streams_;  // by device
  std::map<std::uint64_t, IpcHandle> handles_;      // by allocation
  std::list<Opened> opened_;                        // the last used first
};

}  // namespace nearpeak::layer
