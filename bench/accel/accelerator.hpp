// SPDX-License-Identifier: Apache-2.0
// Accelerators: one operations table for every vendor. A backend is a folder beside this file whose
// static RegisterBackend makes it known; its vendor's library is loaded when the program runs.
// Whatever is handed out must end before the Accelerator that handed it out, and a device serves
// one thread at a time. Failed calls throw AcceleratorError, or AcceleratorOutOfMemory.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "accel/memory.hpp"
#include "accel/reduction.hpp"

namespace nearpeak {

// Names the call, the device and the driver's own error name and text.
class AcceleratorError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The same for memory of another process that is mapped here already.
class AcceleratorAlreadyMapped : public AcceleratorError {
 public:
  using AcceleratorError::AcceleratorError;
};

// The same for memory that there is not: a case too large for the device is skipped, not failed.
class AcceleratorOutOfMemory : public std::bad_alloc {
 public:
  explicit AcceleratorOutOfMemory(std::string text)
      : text_(std::make_shared<const std::string>(std::move(text))) {}
  const char* what() const noexcept override { return text_->c_str(); }

 private:
  std::shared_ptr<const std::string> text_;  // copies of an exception must not throw
};

// Why a backend was not taken, in one line.
class BackendUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceInfo {
  int index = 0;
  std::string name;
  std::string uuid;  // "GPU-" and hexadecimal digits as the vendor's tools show them
  std::string pci;   // "00000000:17:00.0", or empty where the driver does not tell
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;  // 0: unknown
  std::string unusable;        // the reason, or empty
};

// As DeviceInfo has them.
std::string uuid_text(const unsigned char (&uuid)[16]);
std::string pci_text(unsigned domain, unsigned bus, unsigned device, unsigned function);

enum class BufferKind { kHost, kPinned, kDevice, kManaged };

inline bool on_device(BufferKind kind) {
  return kind == BufferKind::kDevice || kind == BufferKind::kManaged;
}

// 'H', 'P', 'D' or 'M'. Throws BadInput.
BufferKind buffer_kind(char letter);
char buffer_letter(BufferKind kind);

// A way to get memory of a kind that is not the usual one: libraries may treat it otherwise, or not
// be able to take it.
struct AllocatorInfo {
  std::string name;
  BufferKind kind;
  std::string summary;
};
inline constexpr const char* kPlain = "plain";  // the usual one of every kind

// Operations of one stream run one after the other.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void synchronize() = 0;
  // What is given to this stream from now on begins after all that another of the same device has
  // been given by now. The CPU does not wait.
  virtual void wait_for(Stream& other) = 0;
  // Whether all that was given to the stream is done.
  virtual bool finished() { throw AcceleratorError("streams of this backend cannot be asked"); }
  // The driver's own handle, for libraries that put work into it; null where there is none.
  virtual void* native() { return nullptr; }
  virtual std::string native_type() const { return ""; }  // as its manual has it: "cudaStream_t"
};

// A stream as its backend knows it: a device is given its own alone. It is verified where there is
// no NDEBUG.
template <class Own>
Own& own_stream(Stream& stream) {
  assert(dynamic_cast<Own*>(&stream) != nullptr);
  return static_cast<Own&>(stream);
}

// A point in a stream.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(Stream& stream) = 0;
  virtual bool reached() = 0;
};

// Work that a stream was given while it was recorded, which is done as a whole as often as asked.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void launch(Stream& stream) = 0;
};

struct LaunchShape {
  unsigned blocks;
  unsigned threads;  // of each block
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // One address for each argument, in order; they are read before this returns. What memory an
  // argument may point to is the backend's affair: the start of an allocation serves everywhere.
  virtual void launch(const LaunchShape& shape, std::initializer_list<const void*> arguments,
                      Stream& stream) = 0;
};

// Kernels compiled together; outlives them.
class Program {
 public:
  virtual ~Program() = default;
  virtual std::unique_ptr<Kernel> kernel(const std::string& name) = 0;
};

// Device memory of another process, closed at the end.
class OpenedMemory {
 public:
  virtual ~OpenedMemory() = default;
  virtual void* data() const = 0;
};

// Addresses of a device where memory of other processes may be mapped. What is mapped ends before.
class ReservedAddresses {
 public:
  virtual ~ReservedAddresses() = default;
  virtual void* data() const = 0;
  // Maps all memory of a file descriptor, which has this length, at this offset.
  virtual std::unique_ptr<OpenedMemory> map(std::size_t offset, int file, std::size_t bytes) = 0;
};

// Host memory that the driver has pinned, unpinned at the end.
class RegisteredMemory {
 public:
  virtual ~RegisteredMemory() = default;
  // What the device calls its first byte: for copies and for kernels.
  virtual void* on_device() const = 0;
};

// A name of device memory that another process opens. It can lie in memory that both share.
struct IpcHandle {
  std::array<unsigned char, 128> bytes{};
  std::uint32_t length = 0;
};

// What the driver knows of an address.
struct Located {
  BufferKind kind = BufferKind::kHost;
  int device = 0;        // an index, as Accelerator::device() takes it
  void* base = nullptr;  // of the allocation that has the address
  std::size_t bytes = 0;
  std::uint64_t allocation = 0;  // a number that no other one of this process has had or will have
  bool shareable = false;        // whether Ipc::export_memory takes it
  bool is_chunk = false;         // whether ChunkSharing::file_of does
  void* context = nullptr;  // of the driver, that it belongs to; null: none, as a pool's memory
};

// What not every device can do; each is asked for with the functions of Device of the same name.

class Ipc {
 public:
  virtual ~Ipc() = default;
  // `memory` is what allocate() of the D memory returned, not an address within it.
  virtual IpcHandle export_memory(void* memory) = 0;
  // Of another process; the memory must outlive what is returned.
  virtual std::unique_ptr<OpenedMemory> open(const IpcHandle& handle) = 0;
};

// An allocator (Device::memory_from) of memory in one chunk, which ChunkSharing takes.
constexpr const char* kOneChunk = "vmm";

// Memory that somebody has created and mapped in chunks, one behind the other, which has no handle
// of Ipc's.
class ChunkSharing {
 public:
  virtual ~ChunkSharing() = default;
  // What another process can map a chunk by; `memory` is in it. The caller closes it: its memory is
  // not free before.
  virtual int file_of(const void* memory) = 0;
  virtual std::unique_ptr<ReservedAddresses> reserve(std::size_t bytes) = 0;
};

class Registration {
 public:
  virtual ~Registration() = default;
  // Pins host memory that its owner has written, where it is: every device of this process reaches
  // it. It begins on a page and is not registered yet.
  virtual std::unique_ptr<RegisteredMemory> register_memory(void* memory, std::size_t bytes) = 0;
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  // Why kernels cannot run here after all, in one line; empty where they can. What the backend's
  // own kernels need is compiled at the first call.
  virtual const std::string& unavailable() = 0;
  virtual unsigned multiprocessors() const = 0;
  // Whether they may write and read P memory.
  virtual bool reach_pinned() const { return false; }
  // Source in the backend's language; CUDA's begins with the functions of accel/kernels/. The error
  // of source that does not compile has the compiler's log; BackendUnavailable where there is no
  // compiler.
  virtual std::unique_ptr<Program> compile(const std::string& source) = 0;
  // The kernels of accel/kernels/kernels.hpp that move data. Throws as compile() does.
  virtual std::unique_ptr<Program> motion() {
    throw BackendUnavailable("this backend has no kernels that move data");
  }
  // Those of accel/persistent_copy_kernel.hpp, accel/block_mover.hpp and accel/batch_copier.hpp.
  // Throws as compile() does.
  // They are compiled in a thread of its own from begin_persistent_copy() on, for which it waits.
  virtual void begin_persistent_copy() {}
  virtual bool persistent_copy_ready() { return true; }
  virtual std::unique_ptr<Program> persistent_copy() {
    throw BackendUnavailable("this backend has no kernel that carries short copies");
  }
  // That of accel/reducer.hpp for one reduction, likewise.
  virtual void begin_reduction(const Combination&) {}
  virtual bool reduction_ready(const Combination&) { return true; }
  virtual std::unique_ptr<Program> reduction(const Combination&) {
    throw BackendUnavailable("this backend has no kernels that combine numbers");
  }
  // Those that pack blocks, compiled at the first call; they live as long as the device.
  virtual Program& packing() { throw AcceleratorError("this backend has no kernels that pack"); }
  // Source that is the same in every language (accel/kernels/kernels.hpp), compiled at the first
  // call, valid as long as the device. Throws as compile() does.
  virtual Program& portable(const std::string& source) = 0;
  // Those that compute, valid as long as the device. Throws as compile() does.
  virtual Program& arithmetic() {
    throw BackendUnavailable("this backend has no kernels that compute");
  }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // Valid as long as the device. Payloads in D and M are filled and verified by kernels on the
  // device, and through a host buffer where there are no kernels.
  virtual Memory& memory(BufferKind kind) = 0;
  // From an allocator of the backend, likewise; null where it has none of this name. Throws where
  // the device cannot have it.
  virtual Memory* memory_from(const std::string&) { return nullptr; }
  // Of its memory, by all processes; 0: unknown.
  virtual std::uint64_t used_bytes() { return 0; }
  // Any kinds of memory on either side. copy() returns when the bytes are in their place, and waits
  // for no other stream.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_async(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;

  virtual std::unique_ptr<Stream> new_stream() = 0;
  // One whose kernels let those of other streams go first, where the device knows of urgency.
  virtual std::unique_ptr<Stream> new_background_stream() { return new_stream(); }
  virtual std::unique_ptr<Event> new_event() = 0;
  // Of what `work` gives to the stream, by itself or through libraries; none of it is done.
  virtual std::unique_ptr<Graph> record_graph(Stream&, const std::function<void()>&) {
    throw AcceleratorError("this backend records no graphs");
  }

  // For libraries that are given its addresses in a thread that has not used it yet.
  virtual void use_in_this_thread() {}
  // What its own memory belongs to, as Located has it; null where the driver has nothing like it.
  virtual void* own_context() { return nullptr; }

  // Null where the backend has none; valid as long as the device.
  virtual Ipc* ipc() { return nullptr; }
  virtual ChunkSharing* chunk_sharing() { return nullptr; }
  virtual Registration* registration() { return nullptr; }
  virtual Kernels* kernels() { return nullptr; }

  // Whether addresses of D memory mean anything to an MPI library that knows the vendor.
  virtual bool shares_addresses() const { return true; }
};

// The one of these that is of a kind; host memory is no device's.
Memory& memory_of(BufferKind kind, Memory& pinned, Memory& device, Memory& managed);

// What processes share memory by, and what pins host memory. Throw AcceleratorError where the
// backend has none.
Ipc& ipc_of(Device& device);
Registration& registration_of(Device& device);
// Throws BackendUnavailable where it has none.
Kernels& kernels_of(Device& device);

// Why kernels cannot run on a device, in one line; empty where they can.
std::string why_no_kernels(Device& device);

// One backend with its devices.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual std::string version() const = 0;  // of what was loaded, for people
  virtual const std::vector<DeviceInfo>& devices() const = 0;
  // Takes the device for this process at the first call: seconds and some of its memory.
  virtual Device& device(int index) = 0;
  // Whether somebody has reset a device since it was taken, as cudaDeviceReset does. All that the
  // device handed out went then, and none of it may be destroyed: abandon() is for that. False
  // where the driver does not tell.
  virtual bool was_reset(int) { return false; }
  // Takes a device anew that was reset.
  virtual void take_again(int) { throw AcceleratorError("this backend takes no device again"); }

  // Where memory is that somebody else has allocated; nothing for ordinary host memory, and where
  // the driver cannot say.
  virtual std::optional<Located> locate(const void*) { return std::nullopt; }
  // Whether a device can open memory of another one, by index.
  virtual bool reaches(int, int) { return false; }

  // The index of a device given by index or by UUID. Throws BadInput that names those there are.
  int find_device(const std::string& text) const;
};

struct Backend {
  std::string name;                                    // that of its folder
  std::function<std::unique_ptr<Accelerator>()> load;  // throws BackendUnavailable
  std::vector<AllocatorInfo> allocators = {};
};

// A static object of this type in a backend's file makes the backend known.
struct RegisterBackend {
  explicit RegisterBackend(Backend backend);
};

const std::vector<Backend>& backends();  // by name
// Throws BadInput that names those there are.
const Backend& find_backend(const std::string& name);
// Loads the backend of this name, or, where it is empty, the first of the GPU vendors' that can be
// used: cuda, hip. Throws BackendUnavailable, "cuda has none: ..."
std::unique_ptr<Accelerator> load_accelerator(const std::string& backend);

}  // namespace nearpeak
