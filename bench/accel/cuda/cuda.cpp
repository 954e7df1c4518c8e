// SPDX-License-Identifier: Apache-2.0
// The CUDA backend: NVIDIA's driver API in the primary context, which the CUDA runtime and so the
// MPI libraries use too.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "accel/accelerator.hpp"
#include "accel/cuda/driver.hpp"
#include "accel/cuda/nvrtc.hpp"
#include "accel/cuda/prelude.hpp"
#include "accel/host_payload.hpp"
#include "accel/kernels/kernels.hpp"
#include "options/options.hpp"

namespace nearpeak::cuda {
namespace {

struct Bytes {
  std::size_t count;
};
std::string shown(Bytes bytes) { return std::to_string(bytes.count) + " B"; }
std::string shown(const std::string& text) { return text; }

// Calls of the driver on one device. The context is set at every call, as an MPI library in the
// same process may change it; that costs some nanoseconds.
class Context {
 public:
  Context(const Driver& driver, int index, DeviceNumber number)
      : driver_(driver), index_(index), number_(number) {
    check(driver_.cuDevicePrimaryCtxRetain(&handle_, number_), "cuDevicePrimaryCtxRetain");
  }
  ~Context() { driver_.cuDevicePrimaryCtxRelease_v2(number_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The driver's functions, with this context current.
  const Driver& use() const {
    check(driver_.cuCtxSetCurrent(handle_), "cuCtxSetCurrent");
    return driver_;
  }
  // The same for destructors, which cannot do anything about errors: a broken context has said so
  // before.
  const Driver& use_last() const noexcept {
    driver_.cuCtxSetCurrent(handle_);
    return driver_;
  }

  template <class... Arguments>
  void check(int result, const char* call, const Arguments&... arguments) const {
    if (result != kSuccess) [[unlikely]]
      fail(result, call, {shown(arguments)...});
  }

  int attribute(DeviceAttribute which) const {
    int value = 0;
    check(use().cuDeviceGetAttribute(&value, which, number_), "cuDeviceGetAttribute",
          std::to_string(which));
    return value;
  }

 private:
  [[noreturn]] void fail(int result, const char* call,
                         std::initializer_list<std::string> arguments) const {
    std::string text = call;
    if (arguments.size() != 0) {
      std::string list;
      for (const std::string& each : arguments) list += (list.empty() ? "" : ", ") + each;
      text += "(" + list + ")";
    }
    text += " on GPU " + std::to_string(index_) + ": " + driver_.error_text(result);
    if (result == kOutOfMemory) throw AcceleratorOutOfMemory(std::move(text));
    throw AcceleratorError(text);
  }

  const Driver& driver_;
  int index_;
  DeviceNumber number_;
  ContextHandle handle_ = nullptr;
};

DevicePointer address(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }
void* pointer_to(DevicePointer address) { return reinterpret_cast<void*>(address); }

class CudaStream final : public Stream {
 public:
  explicit CudaStream(const Context& context) : context_(context) {
    context_.check(context_.use().cuStreamCreate(&handle_, kStreamNonBlocking), "cuStreamCreate");
  }
  ~CudaStream() override { context_.use_last().cuStreamDestroy_v2(handle_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void synchronize() override {
    context_.check(context_.use().cuStreamSynchronize(handle_), "cuStreamSynchronize");
  }
  bool finished() override {
    const int result = context_.use().cuStreamQuery(handle_);
    if (result == kNotReady) return false;
    context_.check(result, "cuStreamQuery");
    return true;
  }
  StreamHandle handle() const { return handle_; }

 private:
  const Context& context_;
  StreamHandle handle_ = nullptr;
};

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(const Context& context) : context_(context) {
    context_.check(context_.use().cuEventCreate(&handle_, kEventDisableTiming), "cuEventCreate");
  }
  ~CudaEvent() override { context_.use_last().cuEventDestroy_v2(handle_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void record(Stream& stream) override {
    const StreamHandle on = static_cast<CudaStream&>(stream).handle();
    context_.check(context_.use().cuEventRecord(handle_, on), "cuEventRecord");
  }
  bool reached() override {
    const int result = context_.use().cuEventQuery(handle_);
    if (result == kNotReady) return false;
    context_.check(result, "cuEventQuery");
    return true;
  }

 private:
  const Context& context_;
  EventHandle handle_ = nullptr;
};

class CudaKernel final : public Kernel {
 public:
  CudaKernel(const Context& context, FunctionHandle handle, std::string name)
      : context_(context), handle_(handle), name_(std::move(name)) {}

  void launch(const LaunchShape& shape, std::initializer_list<const void*> arguments,
              Stream& stream) override {
    const StreamHandle on = static_cast<CudaStream&>(stream).handle();
    auto** values = const_cast<void**>(arguments.begin());
    context_.check(context_.use().cuLaunchKernel(handle_, shape.blocks, 1, 1, shape.threads, 1, 1,
                                                 0, on, values, nullptr),
                   "cuLaunchKernel", name_);
  }

 private:
  const Context& context_;
  FunctionHandle handle_;
  std::string name_;
};

class CudaProgram final : public Program {
 public:
  CudaProgram(const Context& context, const std::string& code) : context_(context) {
    context_.check(context_.use().cuModuleLoadData(&handle_, code.data()), "cuModuleLoadData");
  }
  ~CudaProgram() override { context_.use_last().cuModuleUnload(handle_); }
  CudaProgram(const CudaProgram&) = delete;
  CudaProgram& operator=(const CudaProgram&) = delete;

  std::unique_ptr<Kernel> kernel(const std::string& name) override {
    FunctionHandle function = nullptr;
    context_.check(context_.use().cuModuleGetFunction(&function, handle_, name.c_str()),
                   "cuModuleGetFunction", name);
    return std::make_unique<CudaKernel>(context_, function, name);
  }

 private:
  const Context& context_;
  ModuleHandle handle_ = nullptr;
};

class CudaOpenedMemory final : public OpenedMemory {
 public:
  CudaOpenedMemory(const Context& context, const IpcHandle& handle) : context_(context) {
    MemoryHandle bytes;
    if (handle.length != sizeof(bytes.bytes))
      throw AcceleratorError("this is not a handle of CUDA: it has " +
                             std::to_string(handle.length) + " bytes");
    std::memcpy(bytes.bytes, handle.bytes.data(), sizeof(bytes.bytes));
    context_.check(context_.use().cuIpcOpenMemHandle_v2(&data_, bytes, kIpcLazyPeerAccess),
                   "cuIpcOpenMemHandle_v2");
  }
  ~CudaOpenedMemory() override { context_.use_last().cuIpcCloseMemHandle(data_); }
  CudaOpenedMemory(const CudaOpenedMemory&) = delete;
  CudaOpenedMemory& operator=(const CudaOpenedMemory&) = delete;
  void* data() const override { return pointer_to(data_); }

 private:
  const Context& context_;
  DevicePointer data_ = 0;
};

class CudaRegisteredMemory final : public RegisteredMemory {
 public:
  CudaRegisteredMemory(const Context& context, void* memory, std::size_t bytes)
      : context_(context), memory_(memory) {
    constexpr unsigned kFlags = kHostRegisterPortable | kHostRegisterMapped;
    const Driver& driver = context_.use();
    context_.check(driver.cuMemHostRegister_v2(memory, bytes, kFlags), "cuMemHostRegister_v2",
                   Bytes{bytes});
    const int result = driver.cuMemHostGetDevicePointer_v2(&on_device_, memory, 0);
    if (result != kSuccess) driver.cuMemHostUnregister(memory);
    context_.check(result, "cuMemHostGetDevicePointer_v2");
  }
  ~CudaRegisteredMemory() override { context_.use_last().cuMemHostUnregister(memory_); }
  CudaRegisteredMemory(const CudaRegisteredMemory&) = delete;
  CudaRegisteredMemory& operator=(const CudaRegisteredMemory&) = delete;
  void* on_device() const override { return pointer_to(on_device_); }

 private:
  const Context& context_;
  void* memory_;
  DevicePointer on_device_ = 0;
};

// Pinned host memory, which every device can use; payloads are the CPU's affair.
class PinnedMemory final : public HostReachable {
 public:
  explicit PinnedMemory(const Context& context) : context_(context) {}

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    const std::size_t some = std::max<std::size_t>(bytes, 1);
    context_.check(context_.use().cuMemHostAlloc(&memory, some, kHostAllocPortable),
                   "cuMemHostAlloc", Bytes{bytes});
    return memory;
  }
  void release(void* memory) override { context_.use_last().cuMemFreeHost(memory); }

 private:
  const Context& context_;
};

// Payloads by kernels::kPattern on one device.
class PatternKernels {
 public:
  PatternKernels(Device& device, Kernels& kernels, Memory& memory)
      : device_(device),
        stream_(device.new_stream()),
        program_(kernels.compile(kernels::kPattern)),
        fill_(program_->kernel("fill")),
        spoil_(program_->kernel("spoil")),
        find_mismatch_(program_->kernel("find_mismatch")),
        first_(memory, sizeof(std::uint64_t), 1),
        shape_{.blocks = kernels.multiprocessors() * 8, .threads = 256} {
    // Once for nothing, so that they are loaded: later that may wait for kernels that do not end.
    const SlotLayout none{.bytes = 0, .stride = 0, .count = 0};
    fill(somewhere(), none, {}, Part::kAll);
    spoil(somewhere(), none, 0);
    find_mismatch(somewhere(), none, {}, Part::kAll);
  }

  void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) {
    const Numbers n(layout, payload, part);
    fill_->launch(shape_, {&base, &n.bytes, &n.stride, &n.count, &n.seed, &n.round, &n.stamps},
                  *stream_);
    stream_->synchronize();
  }

  void spoil(void* base, const SlotLayout& layout, std::uint64_t seed) {
    const Numbers n(layout, {.seed = seed}, Part::kAll);
    spoil_->launch(shape_, {&base, &n.stride, &n.count, &n.seed}, *stream_);
    stream_->synchronize();
  }

  std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                        const Payload& payload, Part part) {
    constexpr std::uint64_t kNone = ~std::uint64_t{0};
    std::uint64_t first = kNone;
    void* const target = first_.slot(0);
    device_.copy(target, &first, sizeof(first));
    const Numbers n(layout, payload, part);
    find_mismatch_->launch(
        shape_, {&base, &n.bytes, &n.stride, &n.count, &n.seed, &n.round, &n.stamps, &target},
        *stream_);
    stream_->synchronize();
    device_.copy(&first, target, sizeof(first));
    if (first == kNone) return std::nullopt;
    const std::uint64_t slot = first / layout.stride;
    const std::uint64_t byte = first % layout.stride;
    // The gap has words of its own, also behind a payload that ends within one.
    const std::uint64_t word =
        payload_word(payload, slot, byte / 8, byte < layout.bytes ? layout.bytes : 0);
    unsigned char got = 0;
    device_.copy(&got, static_cast<const char*>(base) + first, 1);
    return Mismatch{.slot = slot,
                    .byte = byte,
                    .expected = static_cast<unsigned char>(word >> (8 * (byte % 8))),
                    .got = got};
  }

 private:
  // Of a launch; each is 64 bits wide.
  struct Numbers {
    std::uint64_t bytes, stride, count, seed, round, stamps;
    Numbers(const SlotLayout& layout, const Payload& payload, Part part)
        : bytes(layout.bytes),
          stride(layout.stride),
          count(layout.count),
          seed(payload.seed),
          round(payload.round),
          stamps(part == Part::kStamps ? 1 : 0) {}
  };

  void* somewhere() const { return first_.slot(0); }

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Kernel> fill_;
  std::unique_ptr<Kernel> spoil_;
  std::unique_ptr<Kernel> find_mismatch_;
  SlotBuffer first_;
  LaunchShape shape_;
};

class CudaDevice;

// Device or managed memory. Payloads are made and checked on the device.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(CudaDevice& device, const Context& context, bool managed)
      : device_(device), context_(context), managed_(managed) {}

  void* allocate(std::size_t bytes) override;
  void release(void* memory) override { context_.use_last().cuMemFree_v2(address(memory)); }
  void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) override;
  void spoil(void* base, const SlotLayout& layout, std::uint64_t seed) override;
  std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                        const Payload& payload, Part part) override;
  void to_host(void* host, const void* from, std::size_t bytes) override;
  void from_host(void* to, const void* host, std::size_t bytes) override;

 private:
  CudaDevice& device_;
  const Context& context_;
  bool managed_;
};

class CudaIpc final : public Ipc {
 public:
  explicit CudaIpc(const Context& context) : context_(context) {}

  IpcHandle export_memory(void* memory) override {
    // A handle stands for a whole allocation: whoever opened it would be silently elsewhere.
    const Driver& driver = context_.use();
    DevicePointer base = 0;
    std::size_t bytes = 0;
    context_.check(driver.cuMemGetAddressRange_v2(&base, &bytes, address(memory)),
                   "cuMemGetAddressRange_v2");
    if (base != address(memory))
      throw AcceleratorError("device memory can be given to another process only from its start");
    MemoryHandle given;
    context_.check(driver.cuIpcGetMemHandle(&given, address(memory)), "cuIpcGetMemHandle");
    IpcHandle handle;
    handle.length = sizeof(given.bytes);
    std::memcpy(handle.bytes.data(), given.bytes, sizeof(given.bytes));
    return handle;
  }
  std::unique_ptr<OpenedMemory> open(const IpcHandle& handle) override {
    return std::make_unique<CudaOpenedMemory>(context_, handle);
  }

 private:
  const Context& context_;
};

class CudaRegistration final : public Registration {
 public:
  explicit CudaRegistration(const Context& context) : context_(context) {}
  std::unique_ptr<RegisteredMemory> register_memory(void* memory, std::size_t bytes) override {
    return std::make_unique<CudaRegisteredMemory>(context_, memory, bytes);
  }

 private:
  const Context& context_;
};

class CudaKernels final : public Kernels {
 public:
  CudaKernels(Device& device, const Context& context) : device_(device), context_(context) {}

  const std::string& unavailable() override {
    if (pattern_ || !unavailable_.empty()) return unavailable_;
    try {
      pattern_.emplace(device_, *this, device_.memory(BufferKind::kDevice));
    } catch (const BackendUnavailable& error) {
      unavailable_ = error.what();
    } catch (const AcceleratorError& error) {
      const std::string text = error.what();
      unavailable_ = text.substr(0, text.find('\n'));
    }
    return unavailable_;
  }
  unsigned multiprocessors() const override {
    return static_cast<unsigned>(context_.attribute(kMultiprocessors));
  }
  std::unique_ptr<Program> compile(const std::string& source) override {
    if (!compiler_) compiler_.emplace();
    return std::make_unique<CudaProgram>(
        context_, compiler_->compile(kPrelude + source, context_.attribute(kCapabilityMajor),
                                     context_.attribute(kCapabilityMinor)));
  }
  std::unique_ptr<Program> motion() override { return compile(kernels::motion()); }

  // Null where kernels cannot run.
  PatternKernels* pattern() { return unavailable().empty() ? &*pattern_ : nullptr; }

 private:
  Device& device_;
  const Context& context_;
  std::optional<Nvrtc> compiler_;
  std::string unavailable_;
  std::optional<PatternKernels> pattern_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(const Driver& driver, const DeviceInfo& info, DeviceNumber number)
      : info_(info),
        context_(driver, info.index, number),
        copies_(context_),
        pinned_(context_),
        device_(*this, context_, false),
        managed_(*this, context_, true) {}

  const DeviceInfo& info() const override { return info_; }

  Memory& memory(BufferKind kind) override {
    switch (kind) {
      case BufferKind::kPinned:
        return pinned_;
      case BufferKind::kDevice:
        return device_;
      case BufferKind::kManaged:
        return managed_;
      case BufferKind::kHost:
        break;
    }
    return host_memory();
  }

  void use_in_this_thread() override { context_.use(); }

  // Not cuMemcpy: that may return while bytes are still on their way. Nothing may fail between the
  // two calls, as the caller frees host memory when this throws.
  void copy(void* to, const void* from, std::size_t bytes) override {
    const Driver& driver = context_.use();
    context_.check(driver.cuMemcpyAsync(address(to), address(from), bytes, copies_.handle()),
                   "cuMemcpyAsync", Bytes{bytes});
    context_.check(driver.cuStreamSynchronize(copies_.handle()), "cuStreamSynchronize");
  }
  void copy_async(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    const StreamHandle on = static_cast<CudaStream&>(stream).handle();
    context_.check(context_.use().cuMemcpyAsync(address(to), address(from), bytes, on),
                   "cuMemcpyAsync", Bytes{bytes});
  }

  std::unique_ptr<Stream> new_stream() override { return std::make_unique<CudaStream>(context_); }
  std::unique_ptr<Event> new_event() override { return std::make_unique<CudaEvent>(context_); }

  Ipc* ipc() override { return &ipc_; }
  Registration* registration() override { return &registration_; }
  Kernels* kernels() override { return &kernels_; }
  PatternKernels* pattern() { return kernels_.pattern(); }

 private:
  const DeviceInfo info_;
  const Context context_;
  CudaStream copies_;
  PinnedMemory pinned_;
  DeviceMemory device_;
  DeviceMemory managed_;
  CudaIpc ipc_{context_};
  CudaRegistration registration_{context_};
  CudaKernels kernels_{*this, context_};
};

void* DeviceMemory::allocate(std::size_t bytes) {
  const Driver& driver = context_.use();
  const std::size_t some = std::max<std::size_t>(bytes, 1);
  DevicePointer memory = 0;
  if (managed_)
    context_.check(driver.cuMemAllocManaged(&memory, some, kAttachGlobal), "cuMemAllocManaged",
                   Bytes{bytes});
  else
    context_.check(driver.cuMemAlloc_v2(&memory, some), "cuMemAlloc_v2", Bytes{bytes});
  return pointer_to(memory);
}

void DeviceMemory::fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) {
  if (PatternKernels* kernels = device_.pattern())
    return kernels->fill(base, layout, payload, part);
  fill_through_host(device_, base, layout, payload, part);
}

void DeviceMemory::spoil(void* base, const SlotLayout& layout, std::uint64_t seed) {
  if (PatternKernels* kernels = device_.pattern()) return kernels->spoil(base, layout, seed);
  spoil_through_host(device_, base, layout, seed);
}

std::optional<Mismatch> DeviceMemory::find_mismatch(const void* base, const SlotLayout& layout,
                                                    const Payload& payload, Part part) {
  if (PatternKernels* kernels = device_.pattern())
    return kernels->find_mismatch(base, layout, payload, part);
  return find_mismatch_through_host(device_, base, layout, payload, part);
}

void DeviceMemory::to_host(void* host, const void* from, std::size_t bytes) {
  device_.copy(host, from, bytes);
}

void DeviceMemory::from_host(void* to, const void* host, std::size_t bytes) {
  device_.copy(to, host, bytes);
}

// A device that does not answer is listed with the reason; the others can be used.
class Listing {
 public:
  Listing(const Driver& driver, int index) : driver_(driver) {
    info_.index = index;
    if (!good(driver_.cuDeviceGet(&number_, index), "cuDeviceGet")) return;
    char name[256] = "";
    Uuid uuid{};
    std::size_t memory = 0;
    int mode = 0, l2 = 0, domain = 0, bus = 0, slot = 0;
    if (!good(driver_.cuDeviceGetName(name, sizeof(name), number_), "cuDeviceGetName") ||
        !good(driver_.cuDeviceGetUuid(&uuid, number_), "cuDeviceGetUuid") ||
        !good(driver_.cuDeviceTotalMem_v2(&memory, number_), "cuDeviceTotalMem_v2") ||
        !attribute(mode, kComputeMode) || !attribute(l2, kL2Bytes) ||
        !attribute(domain, kPciDomain) || !attribute(bus, kPciBus) || !attribute(slot, kPciDevice))
      return;
    info_.name = name;
    info_.uuid = uuid_text(uuid.bytes);
    info_.pci = pci_text(static_cast<unsigned>(domain), static_cast<unsigned>(bus),
                         static_cast<unsigned>(slot), 0);
    info_.memory_bytes = memory;
    info_.l2_bytes = static_cast<std::uint64_t>(l2);
    if (mode == kComputeProhibited) info_.unusable = "its compute mode is 'prohibited'";
  }

  const DeviceInfo& info() const { return info_; }
  DeviceNumber number() const { return number_; }

 private:
  bool good(int result, const char* call) {
    if (result != kSuccess) info_.unusable = std::string(call) + ": " + driver_.error_text(result);
    return result == kSuccess;
  }
  bool attribute(int& value, DeviceAttribute which) {
    return good(driver_.cuDeviceGetAttribute(&value, which, number_), "cuDeviceGetAttribute");
  }

  const Driver& driver_;
  DeviceInfo info_;
  DeviceNumber number_ = 0;
};

class CudaAccelerator final : public Accelerator {
 public:
  CudaAccelerator() : driver_(load_driver()) {
    int count = 0;
    if (const int result = driver_.cuDeviceGetCount(&count); result != kSuccess)
      throw BackendUnavailable("cuDeviceGetCount: " + driver_.error_text(result));
    if (count == 0) throw BackendUnavailable("the driver has no device");
    for (int i = 0; i < count; ++i) {
      const Listing listing(driver_, i);
      infos_.push_back(listing.info());
      numbers_.push_back(listing.number());
    }
    if (std::all_of(infos_.begin(), infos_.end(),
                    [](const DeviceInfo& info) { return !info.unusable.empty(); }))
      throw BackendUnavailable("no device can be used; GPU 0: " + infos_.front().unusable);
    opened_.resize(infos_.size());
  }

  std::string version() const override {
    return "driver for CUDA " + version_text(driver_.version);
  }
  const std::vector<DeviceInfo>& devices() const override { return infos_; }

  Device& device(int index) override {
    if (index < 0 || static_cast<std::size_t>(index) >= infos_.size())
      throw BadInput("there is no GPU " + std::to_string(index) + ": this process sees " +
                     std::to_string(infos_.size()));
    const DeviceInfo& info = infos_[index];
    if (!info.unusable.empty())
      throw AcceleratorError("GPU " + std::to_string(index) + " cannot be used: " + info.unusable);
    if (!opened_[index])
      opened_[index] = std::make_unique<CudaDevice>(driver_, info, numbers_[index]);
    return *opened_[index];
  }

 private:
  const Driver driver_;
  std::vector<DeviceInfo> infos_;
  std::vector<DeviceNumber> numbers_;
  std::vector<std::unique_ptr<CudaDevice>> opened_;
};

const RegisterBackend entry({"cuda", [] { return std::make_unique<CudaAccelerator>(); }});

}  // namespace
}  // namespace nearpeak::cuda
