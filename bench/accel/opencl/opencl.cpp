// SPDX-License-Identifier: Apache-2.0
// The OpenCL backend: a context for each device, device memory behind addresses of our own.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "accel/accelerator.hpp"
#include "accel/host_payload.hpp"
#include "accel/kernels/kernels.hpp"
#include "accel/opencl/addresses.hpp"
#include "accel/opencl/driver.hpp"
#include "accel/opencl/listing.hpp"
#include "accel/opencl/pattern_kernels.hpp"
#include "options/options.hpp"

namespace nearpeak::opencl {
namespace {

constexpr std::size_t kPage = 4096;

// An object of OpenCL, given back at the end. Commands that were given to a queue keep what they
// need.
template <class Handle>
using Held = std::unique_ptr<std::remove_pointer_t<Handle>, int (*)(Handle)>;

std::string of_bytes(const char* call, std::size_t bytes) {
  return std::string(call) + "(" + std::to_string(bytes) + " B)";
}

char* align_up(void* address, std::size_t to) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<char*>(address) + ((to - number % to) % to);
}

// A device's context, its queues and what its calls return.
class Context {
 public:
  Context(const Driver& driver, const Listed& listed)
      : driver_(driver), listed_(listed), handle_(nullptr, driver.clReleaseContext) {
    int result = kSuccess;
    handle_.reset(driver_.clCreateContext(nullptr, 1, &listed_.handle, nullptr, nullptr, &result));
    check(result, "clCreateContext");
  }

  const Driver& driver() const { return driver_; }
  const Listed& listed() const { return listed_; }
  ContextHandle handle() const { return handle_.get(); }
  std::set<QueueHandle>& queues() { return queues_; }

  void check(int result, const std::string& call) const {
    if (result == kSuccess) [[likely]]
      return;
    // Memory of buffers may be taken as late as when they are used.
    if (result == kAllocationFailure) throw AcceleratorOutOfMemory(error_text(result, call));
    throw AcceleratorError(error_text(result, call));
  }
  // The same for calls that allocate, whose other errors mean that there is no memory either.
  void check_allocation(int result, const char* call, std::size_t bytes) const {
    if (result == kInvalidBufferSize || result == kOutOfResources || result == kOutOfHostMemory)
      throw AcceleratorOutOfMemory(error_text(result, of_bytes(call, bytes)));
    check(result, of_bytes(call, bytes));
  }
  std::string named() const { return "OpenCL device " + std::to_string(listed_.info.index); }

  // All that was given to the device is done; for destructors.
  void finish_last() const noexcept {
    for (const QueueHandle queue : queues_) driver_.clFinish(queue);
  }

 private:
  std::string error_text(int result, const std::string& call) const {
    return call + " on " + named() + ": " + error_name(result);
  }

  const Driver& driver_;
  const Listed& listed_;
  Held<ContextHandle> handle_;
  std::set<QueueHandle> queues_;
};

class OpenClStream final : public Stream {
 public:
  explicit OpenClStream(Context& context)
      : context_(context), handle_(nullptr, context.driver().clReleaseCommandQueue) {
    int result = kSuccess;
    handle_.reset(context_.driver().clCreateCommandQueue(context_.handle(),
                                                         context_.listed().handle, 0, &result));
    context_.check(result, "clCreateCommandQueue");
    context_.queues().insert(handle());
  }
  ~OpenClStream() override { context_.queues().erase(handle()); }
  OpenClStream(const OpenClStream&) = delete;
  OpenClStream& operator=(const OpenClStream&) = delete;

  void synchronize() override { context_.check(context_.driver().clFinish(handle()), "clFinish"); }
  void wait_for(Stream& other) override {
    const Held<EventHandle> passed = own_stream<OpenClStream>(other).marker();
    const EventHandle event = passed.get();
    context_.check(context_.driver().clEnqueueBarrierWithWaitList(handle(), 1, &event, nullptr),
                   "clEnqueueBarrierWithWaitList");
  }

  // What is done when all is that the queue has by now.
  Held<EventHandle> marker() {
    EventHandle event = nullptr;
    context_.check(context_.driver().clEnqueueMarkerWithWaitList(handle(), 0, nullptr, &event),
                   "clEnqueueMarkerWithWaitList");
    Held<EventHandle> held(event, context_.driver().clReleaseEvent);
    start();
    return held;
  }
  // A queue may keep commands to itself until somebody asks for them.
  void start() { context_.check(context_.driver().clFlush(handle()), "clFlush"); }
  QueueHandle handle() const { return handle_.get(); }

 private:
  Context& context_;
  Held<QueueHandle> handle_;
};

class OpenClEvent final : public Event {
 public:
  explicit OpenClEvent(const Context& context)
      : context_(context), handle_(nullptr, context.driver().clReleaseEvent) {}

  void record(Stream& stream) override { handle_ = own_stream<OpenClStream>(stream).marker(); }
  // An event that was never recorded is a point that was reached.
  bool reached() override {
    if (!handle_) return true;
    int status = 0;  // what is left to do, or an error
    context_.check(context_.driver().clGetEventInfo(handle(), kExecutionStatus, sizeof(status),
                                                    &status, nullptr),
                   "clGetEventInfo");
    context_.check(std::min(status, 0), "a command");
    return status == 0;
  }

 private:
  EventHandle handle() const { return handle_.get(); }

  const Context& context_;
  Held<EventHandle> handle_;
};

// Bytes of a scalar or vector type by OpenCL C's name; 0 for any other.
std::size_t type_bytes(std::string name) {
  static const std::map<std::string, std::size_t> scalars{
      {"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"int", 4},   {"uint", 4},
      {"long", 8}, {"ulong", 8}, {"half", 2},  {"float", 4},  {"double", 8}};
  const std::size_t digits = name.find_first_of("0123456789");
  std::size_t lanes = 1;
  if (digits != std::string::npos) {
    const std::string count = name.substr(digits);
    for (const auto& [text, stored] : {std::pair{"2", 2}, {"3", 4}, {"4", 4}, {"8", 8}, {"16", 16}})
      if (count == text) lanes = stored;
    if (lanes == 1) return 0;
    name.resize(digits);
  }
  const auto scalar = scalars.find(name);
  return scalar == scalars.end() ? 0 : scalar->second * lanes;
}

struct Parameter {
  enum Kind { kMemory, kValue } kind;
  std::size_t bytes;  // of a value
};

class OpenClProgram final : public Program {
 public:
  OpenClProgram(OpenClDevice& device, const Context& context, const std::string& source);
  std::unique_ptr<Kernel> kernel(const std::string& name) override;

 private:
  OpenClDevice& device_;
  const Context& context_;
  Held<ProgramHandle> handle_;
};

class OpenClKernel final : public Kernel {
 public:
  OpenClKernel(OpenClDevice& device, const Context& context, ProgramHandle program,
               const std::string& name);

  // A parameter `global T*` takes memory of the kinds D and M of this device; in D it begins at a
  // multiple of the device's alignment, or at the start of its allocation.
  void launch(const LaunchShape& shape, std::initializer_list<const void*> arguments,
              Stream& stream) override;

 private:
  std::vector<Parameter> parameters() const;
  template <class Value>
  Value asked(unsigned parameter, Query what) const;
  // Sets a parameter to this address. Returns the managed memory that the kernel is to have.
  std::optional<Allocation> set_memory(unsigned parameter, const char* address);
  void set(unsigned parameter, std::size_t bytes, const void* value);

  OpenClDevice& device_;
  const Context& context_;
  std::string name_;
  Held<KernelHandle> handle_;
  std::vector<Parameter> parameters_;
};

// Host memory that the driver allocated and that stays mapped.
class PinnedMemory final : public HostReachable {
 public:
  explicit PinnedMemory(OpenClDevice& device) : device_(device) {}
  void* allocate(std::size_t bytes) override;
  void release(void* memory) override;

 private:
  OpenClDevice& device_;
};

// Buffers, or shared virtual memory. Payloads are made and checked on the device.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(OpenClDevice& device, bool managed) : device_(device), managed_(managed) {}

  void* allocate(std::size_t bytes) override;
  void release(void* memory) override;
  void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) override;
  void poison(void* base, const SlotLayout& layout, std::uint64_t seed) override;
  std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                        const Payload& payload, Part part) override;
  void to_host(void* host, const void* from, std::size_t bytes) override;
  void from_host(void* to, const void* host, std::size_t bytes) override;

 private:
  void* allocate_managed(std::size_t bytes);

  OpenClDevice& device_;
  bool managed_;
};

// The kernels of pattern_kernels.hpp on one device.
class PatternKernels {
 public:
  PatternKernels(Device& device, Kernels& kernels, const Addresses& addresses, const Listed& listed)
      : device_(device),
        addresses_(addresses),
        stream_(device.new_stream()),
        program_(kernels.compile(kPatternKernels)),
        fill_(program_->kernel("fill")),
        poison_(program_->kernel("poison")),
        find_wrong_slot_(program_->kernel("find_wrong_slot")),
        first_(device.memory(BufferKind::kDevice), sizeof(std::uint32_t), 1),
        shape_{.blocks = kernels.multiprocessors() * 8,
               .threads = static_cast<unsigned>(std::min<std::size_t>(listed.largest_group, 256))} {
  }

  void fill(const void* base, const SlotLayout& layout, const Payload& payload, Part part) {
    const Numbers n(*this, base, layout, payload, part);
    fill_->launch(shape_,
                  {&n.base, &n.offset, &n.bytes, &n.stride, &n.count, &n.seed, &n.round, &n.stamps},
                  *stream_);
    stream_->synchronize();
  }

  void poison(const void* base, const SlotLayout& layout, std::uint64_t seed) {
    const Numbers n(*this, base, layout, {.seed = seed}, Part::kAll);
    poison_->launch(shape_, {&n.base, &n.offset, &n.stride, &n.count, &n.seed}, *stream_);
    stream_->synchronize();
  }

  std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                        const Payload& payload, Part part) {
    constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::uint32_t first = kNone;
    const void* const target = first_.slot(0);
    device_.copy(first_.slot(0), &first, sizeof(first));
    const Numbers n(*this, base, layout, payload, part);
    find_wrong_slot_->launch(
        shape_,
        {&n.base, &n.offset, &n.bytes, &n.stride, &n.count, &n.seed, &n.round, &n.stamps, &target},
        *stream_);
    stream_->synchronize();
    device_.copy(&first, first_.slot(0), sizeof(first));
    if (first == kNone) return std::nullopt;
    // The byte is found by the host.
    const std::size_t slot = first;
    const SlotLayout slot_layout{.bytes = layout.bytes, .stride = layout.stride, .count = 1};
    auto wrong = find_mismatch_through_host(
        device_, static_cast<const char*>(base) + slot * layout.stride, slot_layout,
        {.seed = payload.seed + (std::uint64_t{slot} << 32), .round = payload.round}, part);
    if (!wrong)
      throw AcceleratorError(device_.info().name + " sees a wrong byte, and a copy of it does not");
    wrong->slot = slot;
    return wrong;
  }

 private:
  // Of a launch; all but the base is 64 bits wide.
  struct Numbers {
    const void* base;
    std::uint64_t offset, bytes, stride, count, seed, round, stamps;
    Numbers(const PatternKernels& kernels, const void* address, const SlotLayout& layout,
            const Payload& payload, Part part)
        : bytes(layout.bytes),
          stride(layout.stride),
          count(layout.count),
          seed(payload.seed),
          round(payload.round),
          stamps(part == Part::kStamps ? 1 : 0) {
      const auto allocation = kernels.addresses_.find(address);
      if (!allocation) throw AcceleratorError("the payload is not in memory of this backend");
      base = allocation->address;
      offset = static_cast<std::uint64_t>(static_cast<const char*>(address) - allocation->address);
    }
  };

  Device& device_;
  const Addresses& addresses_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Kernel> fill_;
  std::unique_ptr<Kernel> poison_;
  std::unique_ptr<Kernel> find_wrong_slot_;
  SlotBuffer first_;
  LaunchShape shape_;
};

class OpenClKernels final : public Kernels {
 public:
  OpenClKernels(OpenClDevice& device, const Context& context)
      : device_(device), context_(context) {}

  const std::string& unavailable() override;
  unsigned multiprocessors() const override { return context_.listed().compute_units; }
  std::unique_ptr<Program> compile(const std::string& source) override {
    if (!context_.listed().has_compiler)
      throw BackendUnavailable("the driver of " + context_.named() + " has no compiler");
    return std::make_unique<OpenClProgram>(device_, context_, source);
  }
  Program& portable(const std::string& source) override {
    std::unique_ptr<Program>& program = portable_[source];
    if (!program) program = compile(kernels::portable_in_opencl(source));
    return *program;
  }

  // Null where kernels cannot run.
  PatternKernels* pattern() { return unavailable().empty() ? &*pattern_ : nullptr; }

 private:
  OpenClDevice& device_;
  const Context& context_;
  std::string unavailable_;
  std::optional<PatternKernels> pattern_;
  std::map<std::string, std::unique_ptr<Program>> portable_;  // by source
};

}  // namespace

class OpenClDevice final : public Device {
 public:
  OpenClDevice(const Driver& driver, const Listed& listed, Addresses& addresses)
      : addresses_(addresses),
        context_(driver, listed),
        copies_(context_),
        pinned_(*this),
        device_(*this, false),
        managed_(*this, true) {}

  const DeviceInfo& info() const override { return context_.listed().info; }

  Memory& memory(BufferKind kind) override { return memory_of(kind, pinned_, device_, managed_); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const End target = end(to, bytes);
    const End source = end(from, bytes);
    if (!target.on_device() && !source.on_device()) {
      std::memcpy(to, from, bytes);
    } else if (target.on_device() && source.on_device() && target.owner() != source.owner()) {
      // Buffers of two contexts never meet.
      std::vector<char> host(std::min(bytes, kPartBytes));
      for (std::size_t done = 0; done < bytes; done += kPartBytes) {
        const std::size_t part = std::min(bytes - done, kPartBytes);
        copy(host.data(), static_cast<const char*>(from) + done, part);
        copy(static_cast<char*>(to) + done, host.data(), part);
      }
    } else {
      OpenClDevice& owner = *(target.on_device() ? target : source).owner();
      owner.enqueue_copy(target, source, bytes, owner.copies_);
      owner.copies_.synchronize();
    }
  }

  // A copy that another device has a part in is done before this returns.
  void copy_async(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    if (bytes == 0) return;
    auto& on = own_stream<OpenClStream>(stream);
    const End target = end(to, bytes);
    const End source = end(from, bytes);
    if (target.of_other(this) || source.of_other(this)) {
      on.synchronize();
      copy(to, from, bytes);
      return;
    }
    if (target.on_device() || source.on_device()) {
      enqueue_copy(target, source, bytes, on);
    } else {
      // A queue has no command that copies within host memory.
      const Held<MemHandle> between = new_buffer(kMemReadWrite, bytes);
      const End middle{
          Allocation{BufferKind::kDevice, nullptr, bytes, this, between.get(), nullptr}, nullptr};
      enqueue_copy(middle, source, bytes, on);
      enqueue_copy(target, middle, bytes, on);
    }
    on.start();
  }

  std::unique_ptr<Stream> new_stream() override { return std::make_unique<OpenClStream>(context_); }
  std::unique_ptr<Event> new_event() override { return std::make_unique<OpenClEvent>(context_); }

  Kernels* kernels() override { return &kernels_; }
  PatternKernels* pattern() { return kernels_.pattern(); }

  bool shares_addresses() const override { return false; }

  Context& context() { return context_; }
  QueueHandle copies() const { return copies_.handle(); }
  Addresses& addresses() { return addresses_; }
  // Managed memory is mapped for the CPU except while a kernel has it.
  bool is_coarse() const { return (context_.listed().svm & kSvmFine) == 0; }

  Held<MemHandle> new_buffer(Bits flags, std::size_t bytes) const {
    int result = kSuccess;
    const Driver& driver = context_.driver();
    const std::size_t some = std::max<std::size_t>(bytes, 1);
    Held<MemHandle> buffer(driver.clCreateBuffer(context_.handle(), flags, some, nullptr, &result),
                           driver.clReleaseMemObject);
    context_.check_allocation(result, "clCreateBuffer", bytes);
    return buffer;
  }

 private:
  static constexpr std::size_t kPartBytes = std::size_t{4} << 20;

  // One end of a copy.
  struct End {
    std::optional<Allocation> memory;  // none: host memory that is not this backend's
    char* address;

    bool on_device() const { return memory && memory->kind == BufferKind::kDevice; }
    OpenClDevice* owner() const { return memory->owner; }
    bool of_other(const OpenClDevice* device) const { return on_device() && owner() != device; }
    std::size_t offset() const { return static_cast<std::size_t>(address - memory->address); }
  };

  End end(const void* address, std::size_t bytes) const {
    End end{addresses_.find(address), static_cast<char*>(const_cast<void*>(address))};
    if (end.memory && end.offset() + bytes > end.memory->bytes)
      throw AcceleratorError("copy of " + std::to_string(bytes) + " B on " + context_.named() +
                             ": it leaves its allocation of " + std::to_string(end.memory->bytes) +
                             " B");
    return end;
  }

  // At least one end is on this device, and none on another.
  void enqueue_copy(const End& to, const End& from, std::size_t bytes, OpenClStream& stream) {
    const Driver& driver = context_.driver();
    const QueueHandle queue = stream.handle();
    if (!to.on_device())
      context_.check(driver.clEnqueueReadBuffer(queue, from.memory->buffer, 0, from.offset(), bytes,
                                                to.address, 0, nullptr, nullptr),
                     of_bytes("clEnqueueReadBuffer", bytes));
    else if (!from.on_device())
      context_.check(driver.clEnqueueWriteBuffer(queue, to.memory->buffer, 0, to.offset(), bytes,
                                                 from.address, 0, nullptr, nullptr),
                     of_bytes("clEnqueueWriteBuffer", bytes));
    else
      context_.check(
          driver.clEnqueueCopyBuffer(queue, from.memory->buffer, to.memory->buffer, from.offset(),
                                     to.offset(), bytes, 0, nullptr, nullptr),
          of_bytes("clEnqueueCopyBuffer", bytes));
  }

  Addresses& addresses_;
  Context context_;
  OpenClStream copies_;
  PinnedMemory pinned_;
  DeviceMemory device_;
  DeviceMemory managed_;
  OpenClKernels kernels_{*this, context_};
};

namespace {

const std::string& OpenClKernels::unavailable() {
  if (pattern_ || !unavailable_.empty()) return unavailable_;
  try {
    pattern_.emplace(device_, *this, device_.addresses(), context_.listed());
  } catch (const BackendUnavailable& error) {
    unavailable_ = error.what();
  } catch (const AcceleratorError& error) {
    const std::string text = error.what();
    unavailable_ = text.substr(0, text.find('\n'));
  }
  return unavailable_;
}

void* PinnedMemory::allocate(std::size_t bytes) {
  const Context& context = device_.context();
  const Driver& driver = context.driver();
  const std::size_t some = bytes + kPage;  // the driver aligns to a vector only
  Held<MemHandle> buffer = device_.new_buffer(kMemReadWrite | kMemAllocHost, some);
  int result = kSuccess;
  void* const origin = driver.clEnqueueMapBuffer(device_.copies(), buffer.get(), 1, kMapReadWrite,
                                                 0, some, 0, nullptr, nullptr, &result);
  context.check_allocation(result, "clEnqueueMapBuffer", bytes);
  char* const address = align_up(origin, kPage);
  device_.addresses().add(
      {BufferKind::kPinned, address, bytes, &device_, buffer.release(), origin});
  return address;
}

void PinnedMemory::release(void* memory) {
  const auto allocation = device_.addresses().take(memory);
  if (!allocation) return;
  const Context& context = device_.context();
  context.finish_last();  // commands may still read or write there
  context.driver().clEnqueueUnmapMemObject(device_.copies(), allocation->buffer, allocation->origin,
                                           0, nullptr, nullptr);
  context.finish_last();
  context.driver().clReleaseMemObject(allocation->buffer);
}

void* DeviceMemory::allocate(std::size_t bytes) {
  if (managed_) return allocate_managed(bytes);
  const Context& context = device_.context();
  const Driver& driver = context.driver();
  Held<MemHandle> buffer = device_.new_buffer(kMemReadWrite, bytes);
  // A driver may take the memory as late as at the first use: that is to be now.
  const unsigned char zero = 0;
  context.check_allocation(driver.clEnqueueFillBuffer(device_.copies(), buffer.get(), &zero, 1, 0,
                                                      1, 0, nullptr, nullptr),
                           "clEnqueueFillBuffer", bytes);
  context.check_allocation(driver.clFinish(device_.copies()), "clFinish", bytes);
  char* const address = reserve_addresses(bytes);
  device_.addresses().add(
      {BufferKind::kDevice, address, bytes, &device_, buffer.release(), nullptr});
  return address;
}

void* DeviceMemory::allocate_managed(std::size_t bytes) {
  const Context& context = device_.context();
  const Driver& driver = context.driver();
  const Bits svm = context.listed().svm;
  if ((svm & (kSvmCoarse | kSvmFine)) == 0)
    throw AcceleratorError(context.named() + " has no memory of the kind M: its driver has no " +
                           "shared virtual memory (OpenCL 2.0's SVM)");
  const std::size_t some = bytes + kPage;  // OpenCL aligns to a vector only
  const Bits flags = kMemReadWrite | (device_.is_coarse() ? 0 : kMemSvmFine);
  void* const origin = driver.clSVMAlloc(context.handle(), flags, some, 0);
  if (origin == nullptr)  // it gives no reason
    throw AcceleratorOutOfMemory(of_bytes("clSVMAlloc", bytes) + " on " + context.named() +
                                 ": no memory");
  if (device_.is_coarse()) {
    const int result = driver.clEnqueueSVMMap(device_.copies(), 1, kMapReadWrite, origin, some, 0,
                                              nullptr, nullptr);
    if (result != kSuccess) driver.clSVMFree(context.handle(), origin);
    context.check_allocation(result, "clEnqueueSVMMap", bytes);
  }
  char* const address = align_up(origin, kPage);
  device_.addresses().add({BufferKind::kManaged, address, bytes, &device_, nullptr, origin});
  return address;
}

void DeviceMemory::release(void* memory) {
  const auto allocation = device_.addresses().take(memory);
  if (!allocation) return;
  const Context& context = device_.context();
  const Driver& driver = context.driver();
  if (!managed_) {
    driver.clReleaseMemObject(allocation->buffer);
    release_addresses(allocation->address, allocation->bytes);
    return;
  }
  context.finish_last();  // clSVMFree does not wait
  if (device_.is_coarse()) {
    driver.clEnqueueSVMUnmap(device_.copies(), allocation->origin, 0, nullptr, nullptr);
    context.finish_last();
  }
  driver.clSVMFree(context.handle(), allocation->origin);
}

void DeviceMemory::fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) {
  if (layout.bytes == 0) return;
  if (PatternKernels* kernels = device_.pattern())
    return kernels->fill(base, layout, payload, part);
  fill_through_host(device_, base, layout, payload, part);
}

void DeviceMemory::poison(void* base, const SlotLayout& layout, std::uint64_t seed) {
  if (layout.stride == 0) return;
  if (PatternKernels* kernels = device_.pattern()) return kernels->poison(base, layout, seed);
  poison_through_host(device_, base, layout, seed);
}

std::optional<Mismatch> DeviceMemory::find_mismatch(const void* base, const SlotLayout& layout,
                                                    const Payload& payload, Part part) {
  if (layout.stride == 0) return std::nullopt;
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

OpenClProgram::OpenClProgram(OpenClDevice& device, const Context& context,
                             const std::string& source)
    : device_(device), context_(context), handle_(nullptr, context.driver().clReleaseProgram) {
  const Driver& driver = context_.driver();
  const char* text = source.c_str();
  const std::size_t bytes = source.size();
  int result = kSuccess;
  handle_.reset(driver.clCreateProgramWithSource(context_.handle(), 1, &text, &bytes, &result));
  context_.check(result, "clCreateProgramWithSource");
  const DeviceHandle target = context_.listed().handle;
  result = driver.clBuildProgram(handle_.get(), 1, &target, "-cl-std=CL1.2 -cl-kernel-arg-info",
                                 nullptr, nullptr);
  if (result != kBuildProgramFailure) {
    context_.check(result, "clBuildProgram");
    return;
  }
  std::size_t size = 0;
  context_.check(driver.clGetProgramBuildInfo(handle_.get(), target, kBuildLog, 0, nullptr, &size),
                 "clGetProgramBuildInfo");
  std::string log(size, '\0');
  context_.check(
      driver.clGetProgramBuildInfo(handle_.get(), target, kBuildLog, size, log.data(), nullptr),
      "clGetProgramBuildInfo");
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  throw AcceleratorError("clBuildProgram on " + context_.named() + ": " + error_name(result) +
                         (log.empty() ? "" : "\n" + log));
}

std::unique_ptr<Kernel> OpenClProgram::kernel(const std::string& name) {
  return std::make_unique<OpenClKernel>(device_, context_, handle_.get(), name);
}

OpenClKernel::OpenClKernel(OpenClDevice& device, const Context& context, ProgramHandle program,
                           const std::string& name)
    : device_(device),
      context_(context),
      name_(name),
      handle_(nullptr, context.driver().clReleaseKernel) {
  int result = kSuccess;
  handle_.reset(context_.driver().clCreateKernel(program, name.c_str(), &result));
  context_.check(result, "clCreateKernel(" + name + ")");
  parameters_ = parameters();
}

template <class Value>
Value OpenClKernel::asked(unsigned parameter, Query what) const {
  Value value{};
  context_.check(context_.driver().clGetKernelArgInfo(handle_.get(), parameter, what, sizeof(value),
                                                      &value, nullptr),
                 "clGetKernelArgInfo(" + name_ + ")");
  return value;
}

std::vector<Parameter> OpenClKernel::parameters() const {
  unsigned count = 0;
  context_.check(context_.driver().clGetKernelInfo(handle_.get(), kArgumentCount, sizeof(count),
                                                   &count, nullptr),
                 "clGetKernelInfo(" + name_ + ")");
  std::vector<Parameter> parameters;
  for (unsigned i = 0; i < count; ++i) {
    const auto space = asked<unsigned>(i, kArgumentSpace);
    if (space == kGlobal || space == kConstant) {
      parameters.push_back({Parameter::kMemory, 0});
    } else {
      const std::array<char, 64> type = asked<std::array<char, 64>>(i, kArgumentType);
      const std::size_t bytes = type_bytes(type.data());
      if (bytes == 0)
        throw AcceleratorError("parameter " + std::to_string(i) + " of " + name_ + " is a '" +
                               type.data() + "': give memory, or a scalar or vector of OpenCL C");
      parameters.push_back({Parameter::kValue, bytes});
    }
  }
  return parameters;
}

void OpenClKernel::set(unsigned parameter, std::size_t bytes, const void* value) {
  context_.check(context_.driver().clSetKernelArg(handle_.get(), parameter, bytes, value),
                 "clSetKernelArg(" + name_ + ", " + std::to_string(parameter) + ")");
}

std::optional<Allocation> OpenClKernel::set_memory(unsigned parameter, const char* address) {
  const Driver& driver = context_.driver();
  const std::string at = "(" + name_ + ", " + std::to_string(parameter) + ")";
  const auto memory = device_.addresses().find(address);
  if (!memory || memory->owner != &device_ || memory->kind == BufferKind::kPinned)
    throw AcceleratorError("launch" + at + " on " + context_.named() +
                           ": the address is not in its memory of the kinds D and M");
  if (memory->kind == BufferKind::kManaged) {
    context_.check(driver.clSetKernelArgSVMPointer(handle_.get(), parameter, address),
                   "clSetKernelArgSVMPointer" + at);
    return memory;
  }
  const auto offset = static_cast<std::size_t>(address - memory->address);
  if (offset == 0) {
    set(parameter, sizeof(MemHandle), &memory->buffer);
    return std::nullopt;
  }
  const std::size_t alignment = context_.listed().alignment;
  if (offset % alignment != 0)
    throw AcceleratorError("launch" + at + " on " + context_.named() + ": memory of OpenCL " +
                           "begins at a multiple of " + std::to_string(alignment) +
                           " B in a kernel, not at " + std::to_string(offset));
  const Region region{offset, memory->bytes - offset};
  int result = kSuccess;
  const Held<MemHandle> part(
      driver.clCreateSubBuffer(memory->buffer, kMemReadWrite, kRegion, &region, &result),
      driver.clReleaseMemObject);
  context_.check(result, "clCreateSubBuffer" + at);
  const MemHandle handle = part.get();
  set(parameter, sizeof(handle), &handle);
  return std::nullopt;
}

void OpenClKernel::launch(const LaunchShape& shape, std::initializer_list<const void*> arguments,
                          Stream& stream) {
  if (arguments.size() != parameters_.size())
    throw AcceleratorError("launch(" + name_ + ") with " + std::to_string(arguments.size()) +
                           " arguments: it has " + std::to_string(parameters_.size()));
  const Driver& driver = context_.driver();
  auto& on = own_stream<OpenClStream>(stream);
  std::map<void*, std::size_t> managed;  // the start and bytes of what the CPU gives up meanwhile
  for (unsigned i = 0; i < parameters_.size(); ++i) {
    const void* const argument = arguments.begin()[i];
    switch (parameters_[i].kind) {
      case Parameter::kValue:
        set(i, parameters_[i].bytes, argument);
        break;
      case Parameter::kMemory:
        const auto memory = set_memory(i, *static_cast<const char* const*>(argument));
        if (memory && device_.is_coarse()) managed[memory->origin] = memory->bytes + kPage;
    }
  }
  for (const auto& [origin, bytes] : managed)
    context_.check(driver.clEnqueueSVMUnmap(on.handle(), origin, 0, nullptr, nullptr),
                   "clEnqueueSVMUnmap");
  const std::size_t threads = shape.threads;
  const std::size_t all = threads * shape.blocks;
  const int result = driver.clEnqueueNDRangeKernel(on.handle(), handle_.get(), 1, nullptr, &all,
                                                   &threads, 0, nullptr, nullptr);
  for (const auto& [origin, bytes] : managed)  // also after an error
    context_.check(
        driver.clEnqueueSVMMap(on.handle(), 0, kMapReadWrite, origin, bytes, 0, nullptr, nullptr),
        "clEnqueueSVMMap");
  context_.check(result, "clEnqueueNDRangeKernel(" + name_ + ")");
  on.start();
}

class OpenClAccelerator final : public Accelerator {
 public:
  OpenClAccelerator() : driver_(load_driver()), listing_(list_devices(driver_)) {
    for (const Listed& each : listing_.devices) infos_.push_back(each.info);
    opened_.resize(infos_.size());
  }

  std::string version() const override { return listing_.platforms; }
  const std::vector<DeviceInfo>& devices() const override { return infos_; }

  Device& device(int index) override {
    if (index < 0 || static_cast<std::size_t>(index) >= infos_.size())
      throw BadInput("there is no OpenCL device " + std::to_string(index) + ": this process sees " +
                     std::to_string(infos_.size()));
    const DeviceInfo& info = infos_[index];
    if (!info.unusable.empty())
      throw AcceleratorError("OpenCL device " + std::to_string(index) +
                             " cannot be used: " + info.unusable);
    if (!opened_[index])
      opened_[index] = std::make_unique<OpenClDevice>(driver_, listing_.devices[index], addresses_);
    return *opened_[index];
  }

 private:
  const Driver driver_;
  const Listing listing_;
  std::vector<DeviceInfo> infos_;
  Addresses addresses_;
  std::vector<std::unique_ptr<OpenClDevice>> opened_;
};

const RegisterBackend entry({"opencl", [] { return std::make_unique<OpenClAccelerator>(); }});

}  // namespace
}  // namespace nearpeak::opencl
