// SPDX-License-Identifier: Apache-2.0
#include "accel/gpu/gpu.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "accel/abandoned.hpp"
#include "accel/background.hpp"
#include "accel/gpu/context.hpp"
#include "accel/gpu/kept_code.hpp"
#include "accel/gpu/pool.hpp"
#include "accel/host_payload.hpp"
#include "accel/kernels/kernels.hpp"
#include "options/options.hpp"

namespace nearpeak::gpu {
namespace {

class GpuStream final : public Stream {
 public:
  enum class Urgency { kUsual, kBackground };

  // A usual one has the greatest priority: that of streams made without any is the least.
  explicit GpuStream(const Context& context, Urgency urgency = Urgency::kUsual)
      : context_(context) {
    int least = 0;
    int greatest = 0;
    context_.call(&Driver::find_priorities, &least, &greatest);
    context_.call(&Driver::create_stream, &handle_, kStreamNonBlocking,
                  urgency == Urgency::kBackground ? least : greatest);
  }
  ~GpuStream() override {
    const Driver& driver = context_.use_last();
    if (passed_ != nullptr) driver.destroy_event(passed_);
    driver.destroy_stream(handle_);
  }
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;

  void synchronize() override { context_.call(&Driver::synchronize_stream, handle_); }
  // A wait keeps the point at which the event was recorded then: it can be recorded anew at once.
  void wait_for(Stream& other) override {
    if (passed_ == nullptr) context_.call(&Driver::create_event, &passed_, kEventDisableTiming);
    context_.call(&Driver::record_event, passed_, own_stream<GpuStream>(other).handle());
    context_.call(&Driver::wait_for_event, handle_, passed_, 0u);
  }
  bool finished() override { return context_.ready(&Driver::query_stream, handle_); }
  void* native() override { return handle_; }
  std::string native_type() const override { return context_.stream_type(); }
  StreamHandle handle() const { return handle_; }

 private:
  const Context& context_;
  StreamHandle handle_ = nullptr;
  EventHandle passed_ = nullptr;  // of streams that are waited for
};

class GpuEvent final : public Event {
 public:
  explicit GpuEvent(const Context& context) : context_(context) {
    context_.call(&Driver::create_event, &handle_, kEventDisableTiming);
  }
  ~GpuEvent() override { context_.use_last().destroy_event(handle_); }
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  void record(Stream& stream) override {
    const StreamHandle on = own_stream<GpuStream>(stream).handle();
    context_.call(&Driver::record_event, handle_, on);
  }
  bool reached() override { return context_.ready(&Driver::query_event, handle_); }

 private:
  const Context& context_;
  EventHandle handle_ = nullptr;
};

class GpuGraph final : public Graph {
 public:
  GpuGraph(const Context& context, GpuStream& stream, const std::function<void()>& work)
      : context_(context) {
    const GraphHandle recorded = record(stream.handle(), work);
    try {
      context_.call_if_there(&Driver::make_ready, &handle_, recorded, 0ull);
    } catch (...) {
      context_.use_last().destroy_graph(recorded);
      throw;
    }
    context_.use_last().destroy_graph(recorded);
  }
  ~GpuGraph() override { context_.use_last().destroy_ready_graph(handle_); }
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;

  void launch(Stream& stream) override {
    context_.call(&Driver::launch_graph, handle_, own_stream<GpuStream>(stream).handle());
  }

 private:
  // The recording ends whatever the work throws: the stream could do nothing else before.
  GraphHandle record(StreamHandle stream, const std::function<void()>& work) const {
    GraphHandle recorded = nullptr;
    context_.call_if_there(&Driver::begin_capture, stream, kCaptureThreadLocal);
    try {
      work();
    } catch (...) {
      const Driver& driver = context_.use_last();
      if (driver.end_capture(stream, &recorded) == kSuccess) driver.destroy_graph(recorded);
      throw;
    }
    context_.call(&Driver::end_capture, stream, &recorded);
    return recorded;
  }

  const Context& context_;
  ReadyGraphHandle handle_ = nullptr;
};

class GpuKernel final : public Kernel {
 public:
  GpuKernel(const Context& context, FunctionHandle handle, std::string name)
      : context_(context), handle_(handle), name_(std::move(name)) {}

  void launch(const LaunchShape& shape, std::initializer_list<const void*> arguments,
              Stream& stream) override {
    const StreamHandle on = own_stream<GpuStream>(stream).handle();
    auto** values = const_cast<void**>(arguments.begin());
    context_.call_of(name_, &Driver::launch, handle_, shape.blocks, 1, 1, shape.threads, 1, 1, 0,
                     on, values, nullptr);
  }

 private:
  const Context& context_;
  FunctionHandle handle_;
  std::string name_;
};

class GpuProgram final : public Program {
 public:
  GpuProgram(const Context& context, const std::string& code) : context_(context) {
    context_.call(&Driver::load_module, &handle_, code.data());
  }
  ~GpuProgram() override { context_.use_last().unload_module(handle_); }
  GpuProgram(const GpuProgram&) = delete;
  GpuProgram& operator=(const GpuProgram&) = delete;

  std::unique_ptr<Kernel> kernel(const std::string& name) override {
    FunctionHandle function = nullptr;
    context_.call_of(name, &Driver::find_function, &function, handle_, name.c_str());
    return std::make_unique<GpuKernel>(context_, function, name);
  }

 private:
  const Context& context_;
  ModuleHandle handle_ = nullptr;
};

class GpuOpenedMemory final : public OpenedMemory {
 public:
  GpuOpenedMemory(const Context& context, const IpcHandle& handle) : context_(context) {
    MemoryHandle bytes;
    if (handle.length != sizeof(bytes.bytes))
      throw AcceleratorError("this is not a handle of a GPU's memory: it has " +
                             std::to_string(handle.length) + " bytes");
    std::memcpy(bytes.bytes, handle.bytes.data(), sizeof(bytes.bytes));
    context_.call(&Driver::open_memory, &data_, bytes, kIpcLazyPeerAccess);
  }
  ~GpuOpenedMemory() override { context_.use_last().close_memory(data_); }
  GpuOpenedMemory(const GpuOpenedMemory&) = delete;
  GpuOpenedMemory& operator=(const GpuOpenedMemory&) = delete;
  void* data() const override { return data_; }

 private:
  const Context& context_;
  void* data_ = nullptr;
};

class GpuRegisteredMemory final : public RegisteredMemory {
 public:
  GpuRegisteredMemory(const Context& context, void* memory, std::size_t bytes)
      : context_(context), memory_(memory) {
    constexpr unsigned kFlags = kHostRegisterPortable | kHostRegisterMapped;
    const Driver& driver = context_.use();
    context_.check(driver.register_host(memory, bytes, kFlags), driver.register_host.name,
                   Bytes{bytes});
    const int result = driver.find_on_device(&on_device_, memory, 0);
    if (result != kSuccess) driver.unregister_host(memory);
    context_.check(result, driver.find_on_device.name);
  }
  ~GpuRegisteredMemory() override { context_.use_last().unregister_host(memory_); }
  GpuRegisteredMemory(const GpuRegisteredMemory&) = delete;
  GpuRegisteredMemory& operator=(const GpuRegisteredMemory&) = delete;
  void* on_device() const override { return on_device_; }

 private:
  const Context& context_;
  void* memory_;
  void* on_device_ = nullptr;
};

// Pinned host memory, which every device can use; payloads are the CPU's affair.
class PinnedMemory final : public HostReachable {
 public:
  explicit PinnedMemory(const Context& context) : context_(context) {}

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    const std::size_t some = std::max<std::size_t>(bytes, 1);
    context_.call_of(Bytes{bytes}, &Driver::allocate_pinned, &memory, some, kHostAllocPortable);
    return memory;
  }
  void release(void* memory) override { context_.use_last().free_pinned(memory); }

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
        poison_(program_->kernel("poison")),
        find_mismatch_(program_->kernel("find_mismatch")),
        first_(memory, sizeof(std::uint64_t), 1),
        shape_{.blocks = kernels.multiprocessors() * 8, .threads = 256} {
    // Once for nothing, so that they are loaded: later that may wait for kernels that do not end.
    const SlotLayout none{.bytes = 0, .stride = 0, .count = 0};
    fill(somewhere(), none, {}, Part::kAll);
    poison(somewhere(), none, 0);
    find_mismatch(somewhere(), none, {}, Part::kAll);
  }

  void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) {
    const Numbers n(layout, payload, part);
    fill_->launch(shape_, {&base, &n.bytes, &n.stride, &n.count, &n.seed, &n.round, &n.stamps},
                  *stream_);
    stream_->synchronize();
  }

  void poison(void* base, const SlotLayout& layout, std::uint64_t seed) {
    const Numbers n(layout, {.seed = seed}, Part::kAll);
    poison_->launch(shape_, {&base, &n.stride, &n.count, &n.seed}, *stream_);
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
  std::unique_ptr<Kernel> poison_;
  std::unique_ptr<Kernel> find_mismatch_;
  SlotBuffer first_;
  LaunchShape shape_;
};

class PlainSource final : public Source {
 public:
  PlainSource(const Context& context, bool managed) : context_(context), managed_(managed) {}

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (managed_)
      context_.call_of(Bytes{bytes}, &Driver::allocate_managed, &memory, bytes, kAttachGlobal);
    else
      context_.call_of(Bytes{bytes}, &Driver::allocate, &memory, bytes);
    return memory;
  }
  void release(void* memory) noexcept override { context_.use_last().free(memory); }

 private:
  const Context& context_;
  const bool managed_;
};

// Ordinary host memory that the driver pins where it is.
class RegisteredHostMemory final : public HostReachable {
 public:
  explicit RegisteredHostMemory(Registration& registration) : registration_(registration) {}

  void* allocate(std::size_t bytes) override {
    constexpr std::size_t kPage = 4096;
    const std::size_t pages = (bytes / kPage + 1) * kPage;
    void* const memory = host_memory().allocate(pages);
    try {
      registered_.emplace(memory, registration_.register_memory(memory, pages));
    } catch (...) {
      host_memory().release(memory);
      throw;
    }
    return memory;
  }
  void release(void* memory) override {
    registered_.erase(memory);
    host_memory().release(memory);
  }

 private:
  Registration& registration_;
  std::map<void*, std::unique_ptr<RegisteredMemory>> registered_;
};

class GpuDevice;

// Device or managed memory. Payloads are made and checked on the device.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(GpuDevice& device, std::unique_ptr<Source> source)
      : device_(device), source_(std::move(source)) {}

  void* allocate(std::size_t bytes) override {
    return source_->allocate(std::max<std::size_t>(bytes, 1));
  }
  void release(void* memory) override { source_->release(memory); }
  void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) override;
  void poison(void* base, const SlotLayout& layout, std::uint64_t seed) override;
  std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                        const Payload& payload, Part part) override;
  void to_host(void* host, const void* from, std::size_t bytes) override;
  void from_host(void* to, const void* host, std::size_t bytes) override;

 private:
  GpuDevice& device_;
  const std::unique_ptr<Source> source_;
};

class GpuIpc final : public Ipc {
 public:
  explicit GpuIpc(const Context& context) : context_(context) {}

  IpcHandle export_memory(void* memory) override {
    // A handle stands for a whole allocation: whoever opened it would be silently elsewhere.
    void* base = nullptr;
    std::size_t bytes = 0;
    context_.call(&Driver::find_allocation, &base, &bytes, memory);
    if (base != memory)
      throw AcceleratorError("device memory can be given to another process only from its start");
    MemoryHandle given;
    context_.call(&Driver::export_memory, &given, memory);
    IpcHandle handle;
    handle.length = sizeof(given.bytes);
    std::memcpy(handle.bytes.data(), given.bytes, sizeof(given.bytes));
    return handle;
  }
  std::unique_ptr<OpenedMemory> open(const IpcHandle& handle) override {
    return std::make_unique<GpuOpenedMemory>(context_, handle);
  }

 private:
  const Context& context_;
};

class GpuRegistration final : public Registration {
 public:
  explicit GpuRegistration(const Context& context) : context_(context) {}
  std::unique_ptr<RegisteredMemory> register_memory(void* memory, std::size_t bytes) override {
    return std::make_unique<GpuRegisteredMemory>(context_, memory, bytes);
  }

 private:
  const Context& context_;
};

class GpuKernels final : public Kernels {
 public:
  GpuKernels(Device& device, const Driver& driver, const Context& context)
      : device_(device), driver_(driver), context_(context) {}

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
    return static_cast<unsigned>(context_.attribute(driver_.attributes.multiprocessors));
  }
  bool reach_pinned() const override { return true; }
  std::unique_ptr<Program> compile(const std::string& source) override {
    if (!compile_) compile_ = driver_.load_compiler(context_);
    return loaded(compile_(source));
  }
  std::unique_ptr<Program> motion() override { return compile(kernels::motion()); }
  void begin_persistent_copy() override {
    if (persistent_copy_) return;
    persistent_copy_.emplace([compile = driver_.load_compiler(context_)] {
      return compile(kernels::persistent_copy());
    });
  }
  bool persistent_copy_ready() override { return persistent_copy_ && persistent_copy_->ready(); }
  std::unique_ptr<Program> persistent_copy() override {
    begin_persistent_copy();
    return loaded(persistent_copy_->get());
  }
  void begin_reduction(const Combination& of) override {
    if (reductions_.count(of) > 0) return;
    reductions_.try_emplace(of, [of, compile = driver_.load_compiler(context_)] {
      return compile(kernels::reduction(of));
    });
  }
  bool reduction_ready(const Combination& of) override {
    const auto found = reductions_.find(of);
    return found != reductions_.end() && found->second.ready();
  }
  std::unique_ptr<Program> reduction(const Combination& of) override {
    begin_reduction(of);
    return loaded(reductions_.at(of).get());
  }
  Program& packing() override { return compiled_once(packing_, kernels::kPack); }
  Program& arithmetic() override { return compiled_once(arithmetic_, kernels::kArithmetic); }
  Program& portable(const std::string& source) override {
    return compiled_once(portable_[source], kernels::portable_in_cpp(source));
  }

  // Null where kernels cannot run.
  PatternKernels* pattern() { return unavailable().empty() ? &*pattern_ : nullptr; }

 private:
  std::unique_ptr<Program> loaded(const std::string& code) {
    try {
      return std::make_unique<GpuProgram>(context_, code);
    } catch (const AcceleratorError&) {
      forget_code();
      throw;
    }
  }
  Program& compiled_once(std::unique_ptr<Program>& program, const std::string& source) {
    if (!program) program = compile(source);
    return *program;
  }

  Device& device_;
  const Driver& driver_;
  const Context& context_;
  Driver::Compile compile_;
  std::optional<Background> persistent_copy_;
  std::map<Combination, Background> reductions_;
  std::string unavailable_;
  std::optional<PatternKernels> pattern_;
  std::unique_ptr<Program> packing_;
  std::unique_ptr<Program> arithmetic_;
  std::map<std::string, std::unique_ptr<Program>> portable_;  // by source
};

class GpuDevice final : public Device {
 public:
  GpuDevice(const Driver& driver, const DeviceInfo& info, DeviceNumber number)
      : info_(info),
        driver_(driver),
        taken_(driver.take(info.index, number)),
        copies_(context_),
        pinned_(context_),
        device_(*this, std::make_unique<PlainSource>(context_, false)),
        managed_(*this, std::make_unique<PlainSource>(context_, true)),
        kernels_(*this, driver, context_) {}

  const DeviceInfo& info() const override { return info_; }

  Memory& memory(BufferKind kind) override { return memory_of(kind, pinned_, device_, managed_); }

  Memory* memory_from(const std::string& allocator) override {
    std::unique_ptr<Memory>& made = allocators_[allocator];
    if (made) return made.get();
    if (allocator == kRegistered)
      made = std::make_unique<RegisteredHostMemory>(registration_);
    else if (allocator == kPool || allocator == kManagedPool)
      made = std::make_unique<DeviceMemory>(
          *this, std::make_unique<Pool>(
                     std::make_unique<PlainSource>(context_, allocator == kManagedPool)));
    else if (auto source = driver_.source(allocator, context_))
      made = std::make_unique<DeviceMemory>(*this, std::move(source));
    return made.get();
  }
  std::uint64_t used_bytes() override {
    if (driver_.count_free.function == nullptr) return 0;
    std::size_t free = 0;
    std::size_t total = 0;
    context_.call(&Driver::count_free, &free, &total);
    return total - free;
  }

  void use_in_this_thread() override { context_.use(); }
  void* own_context() override { return context_.handle(); }
  bool was_reset() const { return context_.was_reset(); }

  // Not a copy that waits, as cuMemcpy: that may return while bytes are still on their way. Nothing
  // may fail between the two calls, as the caller frees host memory when this throws.
  void copy(void* to, const void* from, std::size_t bytes) override {
    const OwnWork own;
    const Driver& driver = context_.use();
    context_.check(driver.copy(to, from, bytes, copies_.handle()), driver.copy.name, Bytes{bytes});
    context_.check(driver.synchronize_stream(copies_.handle()), driver.synchronize_stream.name);
  }
  void copy_async(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    const StreamHandle on = own_stream<GpuStream>(stream).handle();
    context_.call_of(Bytes{bytes}, &Driver::copy, to, from, bytes, on);
  }

  std::unique_ptr<Stream> new_stream() override { return std::make_unique<GpuStream>(context_); }
  std::unique_ptr<Stream> new_background_stream() override {
    return std::make_unique<GpuStream>(context_, GpuStream::Urgency::kBackground);
  }
  std::unique_ptr<Event> new_event() override { return std::make_unique<GpuEvent>(context_); }
  std::unique_ptr<Graph> record_graph(Stream& stream, const std::function<void()>& work) override {
    return std::make_unique<GpuGraph>(context_, own_stream<GpuStream>(stream), work);
  }

  Ipc* ipc() override { return &ipc_; }
  ChunkSharing* chunk_sharing() override { return chunk_sharing_.get(); }
  Registration* registration() override { return &registration_; }
  Kernels* kernels() override { return &kernels_; }
  PatternKernels* pattern() { return kernels_.pattern(); }

 private:
  const DeviceInfo info_;
  const Driver& driver_;
  const std::unique_ptr<const Context> taken_;
  const Context& context_ = *taken_;
  GpuStream copies_;
  PinnedMemory pinned_;
  DeviceMemory device_;
  DeviceMemory managed_;
  GpuIpc ipc_{context_};
  const std::unique_ptr<ChunkSharing> chunk_sharing_ = driver_.chunk_sharing(context_);
  GpuRegistration registration_{context_};
  GpuKernels kernels_;
  std::map<std::string, std::unique_ptr<Memory>> allocators_;
};

void DeviceMemory::fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) {
  if (PatternKernels* kernels = device_.pattern())
    return kernels->fill(base, layout, payload, part);
  fill_through_host(device_, base, layout, payload, part);
}

void DeviceMemory::poison(void* base, const SlotLayout& layout, std::uint64_t seed) {
  if (PatternKernels* kernels = device_.pattern()) return kernels->poison(base, layout, seed);
  poison_through_host(device_, base, layout, seed);
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
    if (!good(driver_.get_device, &number_, index)) return;
    char name[256] = "";
    Uuid uuid{};
    std::size_t memory = 0;
    int mode = 0, l2 = 0, domain = 0, bus = 0, slot = 0;
    const Attributes& of = driver_.attributes;
    if (!good(driver_.get_name, name, static_cast<int>(sizeof(name)), number_) ||
        !good(driver_.get_uuid, &uuid, number_) ||
        !good(driver_.get_memory_bytes, &memory, number_) || !attribute(mode, of.compute_mode) ||
        !attribute(l2, of.l2_bytes) || !attribute(domain, of.pci_domain) ||
        !attribute(bus, of.pci_bus) || !attribute(slot, of.pci_device))
      return;
    info_.name = name;
    info_.uuid = driver_.shown_uuid(uuid, name);
    info_.pci = pci_text(static_cast<unsigned>(domain), static_cast<unsigned>(bus),
                         static_cast<unsigned>(slot), 0);
    info_.memory_bytes = memory;
    info_.l2_bytes = static_cast<std::uint64_t>(l2);
    if (mode == kComputeProhibited) info_.unusable = "its compute mode is 'prohibited'";
  }

  const DeviceInfo& info() const { return info_; }
  DeviceNumber number() const { return number_; }

 private:
  template <class... Parameters, class... Arguments>
  bool good(const Call<Parameters...>& call, Arguments... arguments) {
    const int result = call(arguments...);
    if (result != kSuccess)
      info_.unusable = std::string(call.name) + ": " + driver_.error_text(result);
    return result == kSuccess;
  }
  bool attribute(int& value, int which) {
    return good(driver_.get_attribute, &value, which, number_);
  }

  const Driver& driver_;
  DeviceInfo info_;
  DeviceNumber number_ = 0;
};

// Older kernels give all partitions of an AMD GPU one UUID: each has its number behind it, as in
// src/nearpeak/machine/gpus/amd.py.
void number_alike(std::vector<DeviceInfo>& infos) {
  std::map<std::string, int> alike, seen;
  for (const DeviceInfo& info : infos) ++alike[info.uuid];
  for (DeviceInfo& info : infos) {
    const std::string uuid = info.uuid;
    if (!uuid.empty() && alike[uuid] > 1) info.uuid += "." + std::to_string(seen[uuid]++);
  }
}

class GpuAccelerator final : public Accelerator {
 public:
  explicit GpuAccelerator(std::unique_ptr<const Driver> driver) : driver_(std::move(driver)) {
    int count = 0;
    const Call<int*>& count_devices = driver_->count_devices;
    if (const int result = count_devices(&count); result != kSuccess)
      throw BackendUnavailable(std::string(count_devices.name) + ": " +
                               driver_->error_text(result));
    if (count == 0) throw BackendUnavailable("the driver has no device");
    for (int i = 0; i < count; ++i) {
      const Listing listing(*driver_, i);
      infos_.push_back(listing.info());
      numbers_.push_back(listing.number());
    }
    number_alike(infos_);
    if (std::all_of(infos_.begin(), infos_.end(),
                    [](const DeviceInfo& info) { return !info.unusable.empty(); }))
      throw BackendUnavailable("no device can be used; GPU 0: " + infos_.front().unusable);
    opened_.resize(infos_.size());
  }
  ~GpuAccelerator() override {
    for (auto& device : opened_)
      if (device && device->was_reset()) abandon(device);
  }
  GpuAccelerator(const GpuAccelerator&) = delete;
  GpuAccelerator& operator=(const GpuAccelerator&) = delete;

  std::string version() const override { return driver_->version(); }
  const std::vector<DeviceInfo>& devices() const override { return infos_; }

  Device& device(int index) override {
    if (index < 0 || static_cast<std::size_t>(index) >= infos_.size())
      throw BadInput("there is no GPU " + std::to_string(index) + ": this process sees " +
                     std::to_string(infos_.size()));
    const DeviceInfo& info = infos_[index];
    if (!info.unusable.empty())
      throw AcceleratorError("GPU " + std::to_string(index) + " cannot be used: " + info.unusable);
    if (!opened_[index]) {
      Visit::begin(*driver_);
      opened_[index] = std::make_unique<GpuDevice>(*driver_, info, numbers_[index]);
    }
    return *opened_[index];
  }
  bool was_reset(int index) override {
    const auto& opened = opened_.at(static_cast<std::size_t>(index));
    return opened && opened->was_reset();
  }
  void take_again(int index) override {
    abandon(opened_.at(static_cast<std::size_t>(index)));
    device(index);
  }

  std::optional<Located> locate(const void* address) override { return driver_->locate(address); }
  bool reaches(int from, int to) override {
    return from == to || driver_->reaches(numbers_.at(static_cast<std::size_t>(from)),
                                          numbers_.at(static_cast<std::size_t>(to)));
  }

 private:
  const std::unique_ptr<const Driver> driver_;
  std::vector<DeviceInfo> infos_;
  std::vector<DeviceNumber> numbers_;
  std::vector<std::unique_ptr<GpuDevice>> opened_;
};

}  // namespace

void Context::fail(int result, const char* call, std::initializer_list<std::string> what) const {
  std::string text = call;
  if (what.size() != 0) text += "(" + comma_list(what) + ")";
  text += " on GPU " + std::to_string(index_) + ": " + driver_.error_text(result);
  if (result == kOutOfMemory) throw AcceleratorOutOfMemory(std::move(text));
  if (result == kAlreadyMapped) throw AcceleratorAlreadyMapped(text);
  throw AcceleratorError(text);
}

std::unique_ptr<Accelerator> new_accelerator(std::unique_ptr<const Driver> driver) {
  return std::make_unique<GpuAccelerator>(std::move(driver));
}

}  // namespace nearpeak::gpu
