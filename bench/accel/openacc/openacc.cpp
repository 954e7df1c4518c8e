// SPDX-License-Identifier: Apache-2.0
// The OpenACC backend: D memory is what acc_malloc gives, as programs with OpenACC hand it to MPI.
// On NVIDIA's GPUs that is memory of the CUDA backend's context, and all besides is that backend's:
// P and M memory, copies, streams and kernels. Where there is none the device is the host.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "accel/accelerator.hpp"
#include "accel/host_payload.hpp"
#include "accel/openacc/runtime.hpp"
#include "options/options.hpp"

namespace nearpeak::openacc {
namespace {

// It returns null without a reason.
void* checked(void* memory, std::size_t bytes, const DeviceInfo& info) {
  if (memory == nullptr)
    throw AcceleratorOutOfMemory("acc_malloc(" + std::to_string(bytes) + " B) on device " +
                                 std::to_string(info.index) + " gave no memory");
  return memory;
}

// A GPU of the CUDA backend, whose D memory comes from acc_malloc. Threads have a device of their
// own in OpenACC, too.
class NvidiaDevice final : public Device {
 public:
  NvidiaDevice(const Runtime& runtime, Device& cuda)
      : runtime_(runtime), cuda_(cuda), memory_(*this) {
    use_in_this_thread();
  }

  const DeviceInfo& info() const override { return cuda_.info(); }
  Memory& memory(BufferKind kind) override {
    return kind == BufferKind::kDevice ? memory_ : cuda_.memory(kind);
  }
  std::uint64_t used_bytes() override { return cuda_.used_bytes(); }
  void copy(void* to, const void* from, std::size_t bytes) override { cuda_.copy(to, from, bytes); }
  void copy_async(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    cuda_.copy_async(to, from, bytes, stream);
  }
  std::unique_ptr<Stream> new_stream() override { return cuda_.new_stream(); }
  std::unique_ptr<Stream> new_background_stream() override { return cuda_.new_background_stream(); }
  std::unique_ptr<Event> new_event() override { return cuda_.new_event(); }
  // libgomp shares the context that is current when it takes a device, and makes its own otherwise.
  void use_in_this_thread() override {
    cuda_.use_in_this_thread();
    runtime_.acc_set_device_num(info().index, kNvidia);
  }
  Ipc* ipc() override { return cuda_.ipc(); }
  Registration* registration() override { return cuda_.registration(); }
  Kernels* kernels() override { return cuda_.kernels(); }

 private:
  class AccMemory final : public ForwardingMemory {
   public:
    explicit AccMemory(NvidiaDevice& device)
        : ForwardingMemory(device.cuda_.memory(BufferKind::kDevice)), device_(device) {}

    void* allocate(std::size_t bytes) override {
      device_.use_in_this_thread();
      const std::size_t some = std::max<std::size_t>(bytes, 1);
      return checked(device_.runtime_.acc_malloc(some), bytes, device_.info());
    }
    void release(void* memory) override {
      device_.use_in_this_thread();
      device_.runtime_.acc_free(memory);
    }

   private:
    NvidiaDevice& device_;
  };

  const Runtime& runtime_;
  Device& cuda_;
  AccMemory memory_;
};

// A queue of the host device.
class AccQueue final : public Stream {
 public:
  AccQueue(const Runtime& runtime, int number) : runtime_(runtime), number_(number) {}
  void synchronize() override { runtime_.acc_wait(number_); }
  void wait_for(Stream& other) override {
    runtime_.acc_wait_async(own_stream<AccQueue>(other).number(), number_);
  }
  bool finished() override { return runtime_.acc_async_test(number_) != 0; }
  int number() const { return number_; }

 private:
  const Runtime& runtime_;
  int number_;
};

// A queue that has nothing but to wait for a point in another.
class QueueEvent final : public Event {
 public:
  QueueEvent(const Runtime& runtime, int number) : runtime_(runtime), number_(number) {}
  void record(Stream& stream) override {
    runtime_.acc_wait_async(own_stream<AccQueue>(stream).number(), number_);
  }
  bool reached() override { return runtime_.acc_async_test(number_) != 0; }

 private:
  const Runtime& runtime_;
  int number_;
};

// The host as a device: all of its memory is host memory, so that P needs no pinning and the
// direction of a copy is all one. M is not to be had.
class HostDevice final : public Device {
 public:
  HostDevice(const Runtime& runtime, const DeviceInfo& info)
      : runtime_(runtime), info_(info), memory_(*this) {
    use_in_this_thread();
  }

  const DeviceInfo& info() const override { return info_; }
  Memory& memory(BufferKind kind) override {
    switch (kind) {
      case BufferKind::kDevice:
        return memory_;
      case BufferKind::kManaged:
        throw AcceleratorError("OpenACC has no managed memory on " + info_.name);
      case BufferKind::kHost:
      case BufferKind::kPinned:
        break;
    }
    return host_memory();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    runtime_.acc_memcpy_to_device(to, from, bytes);
  }
  void copy_async(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    runtime_.acc_memcpy_to_device_async(to, from, bytes, own_stream<AccQueue>(stream).number());
  }
  std::unique_ptr<Stream> new_stream() override {
    return std::make_unique<AccQueue>(runtime_, queues_++);
  }
  std::unique_ptr<Event> new_event() override {
    return std::make_unique<QueueEvent>(runtime_, queues_++);
  }
  void use_in_this_thread() override { runtime_.acc_set_device_num(info_.index, kHost); }

 private:
  // acc_malloc aligns as malloc does: whole pages of it are handed out.
  class AccMemory final : public Memory {
   public:
    explicit AccMemory(HostDevice& device) : device_(device) {}

    void* allocate(std::size_t bytes) override {
      constexpr std::size_t kPage = 4096;
      if (bytes > SIZE_MAX - kPage) checked(nullptr, bytes, device_.info_);
      void* const begin = checked(device_.runtime_.acc_malloc(bytes + kPage), bytes, device_.info_);
      const auto address = reinterpret_cast<std::uintptr_t>(begin);
      auto* const memory = static_cast<char*>(begin) + (kPage - address % kPage);
      begins_[memory] = begin;
      return memory;
    }
    void release(void* memory) override {
      device_.runtime_.acc_free(begins_.at(memory));
      begins_.erase(memory);
    }
    void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) override {
      fill_through_host(device_, base, layout, payload, part);
    }
    void poison(void* base, const SlotLayout& layout, std::uint64_t seed) override {
      poison_through_host(device_, base, layout, seed);
    }
    std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                          const Payload& payload, Part part) override {
      return find_mismatch_through_host(device_, base, layout, payload, part);
    }
    void to_host(void* host, const void* from, std::size_t bytes) override {
      device_.runtime_.acc_memcpy_from_device(host, from, bytes);
    }
    void from_host(void* to, const void* host, std::size_t bytes) override {
      device_.runtime_.acc_memcpy_to_device(to, host, bytes);
    }

   private:
    HostDevice& device_;
    std::map<void*, void*> begins_;
  };

  const Runtime& runtime_;
  const DeviceInfo info_;
  int queues_ = 0;
  AccMemory memory_;
};

DeviceInfo host_info() {
  DeviceInfo info;
  info.name = "the host as OpenACC's device";
  constexpr unsigned char kUuid[16] = {'O',  'p', 'e', 'n', 'A', 'C', 'C',
                                       '\'', 's', ' ', 'h', 'o', 's', 't'};
  info.uuid = uuid_text(kUuid);
  info.memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return info;
}

// Whether the user wants the host, by OpenACC's own variable.
bool host_is_chosen() {
  const char* const type = std::getenv("ACC_DEVICE_TYPE");
  return type != nullptr && std::strcmp(type, "host") == 0;
}

class OpenAccAccelerator final : public Accelerator {
 public:
  OpenAccAccelerator() : runtime_(load_runtime()) {
    const int gpus = host_is_chosen() ? 0 : runtime_.acc_get_num_devices(kNvidia);
    if (gpus == 0) {
      infos_.push_back(host_info());
    } else {
      cuda_ = find_backend("cuda").load();
      infos_ = cuda_->devices();
      if (infos_.size() != static_cast<std::size_t>(gpus))
        throw BackendUnavailable("OpenACC sees " + std::to_string(gpus) + " GPUs and CUDA " +
                                 std::to_string(infos_.size()));
    }
    opened_.resize(infos_.size());
  }
  // libgomp lets go of the GPUs while there is a context.
  ~OpenAccAccelerator() override {
    const bool taken = std::any_of(opened_.begin(), opened_.end(),
                                   [](const auto& device) { return device != nullptr; });
    opened_.clear();
    if (taken && cuda_ != nullptr) runtime_.acc_shutdown(kNvidia);
  }
  OpenAccAccelerator(const OpenAccAccelerator&) = delete;
  OpenAccAccelerator& operator=(const OpenAccAccelerator&) = delete;

  std::string version() const override {
    return cuda_ == nullptr ? "libgomp, the host as its device"
                            : "libgomp, NVIDIA GPUs, " + cuda_->version();
  }
  const std::vector<DeviceInfo>& devices() const override { return infos_; }

  Device& device(int index) override {
    if (index < 0 || static_cast<std::size_t>(index) >= infos_.size())
      throw BadInput("there is no device " + std::to_string(index) + ": OpenACC has " +
                     std::to_string(infos_.size()));
    std::unique_ptr<Device>& opened = opened_[static_cast<std::size_t>(index)];
    if (!opened && cuda_ != nullptr)
      opened = std::make_unique<NvidiaDevice>(runtime_, cuda_->device(index));
    else if (!opened)
      opened = std::make_unique<HostDevice>(runtime_, infos_.front());
    return *opened;
  }

 private:
  const Runtime runtime_;
  std::unique_ptr<Accelerator> cuda_;  // null where the device is the host
  std::vector<DeviceInfo> infos_;
  std::vector<std::unique_ptr<Device>> opened_;
};

const RegisterBackend entry({"openacc", [] { return std::make_unique<OpenAccAccelerator>(); }});

}  // namespace

}  // namespace nearpeak::openacc
