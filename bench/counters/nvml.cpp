// SPDX-License-Identifier: Apache-2.0
// NVLink and PCIe of NVIDIA's GPUs, by NVML. Nothing is woken by reading: a GPU at rest counts 0.
#include <algorithm>
#include <array>

#include "accel/library.hpp"
#include "counters/source.hpp"

namespace nearpeak {
namespace {

// nvml.h: NVML_FI_DEV_*. Throughput is in KiB of payload.
constexpr unsigned kNvlinkSent = 138;
constexpr unsigned kNvlinkReceived = 139;
constexpr unsigned kPcieSent = 197;  // bytes with those of the protocol, 32 bits
constexpr unsigned kPcieReceived = 198;
constexpr unsigned kAllLinks = ~0U;
constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kPcieWraps = std::uint64_t{1} << 32;

// nvmlFieldValue_t.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int type;
  int status;
  std::uint64_t value;
};
static_assert(sizeof(FieldValue) == 40);

using Handle = void*;

class Nvml {
 public:
  // Throws BackendUnavailable.
  Nvml() : library_("NEARPEAK_NVML_LIBRARY", {"libnvidia-ml.so.1"}) {
    if (!library_.find(init_, "nvmlInit_v2") ||
        !library_.find(by_uuid_, "nvmlDeviceGetHandleByUUID") ||
        !library_.find(fields_, "nvmlDeviceGetFieldValues"))
      throw BackendUnavailable(library_.name() + " lacks nvmlDeviceGetFieldValues");
    library_.find(generation_, "nvmlDeviceGetMaxPcieLinkGeneration");
    library_.find(width_, "nvmlDeviceGetMaxPcieLinkWidth");
    if (const int status = init_(); status != 0)
      throw BackendUnavailable("nvmlInit_v2 fails with " + std::to_string(status));
  }

  // Throws BackendUnavailable.
  Handle device(const std::string& uuid) const {
    Handle handle = nullptr;
    if (const int status = by_uuid_(uuid.c_str(), &handle); status != 0)
      throw BackendUnavailable("NVML does not have this GPU (error " + std::to_string(status) +
                               ")");
    return handle;
  }

  int read(Handle device, std::vector<FieldValue>& values) const {
    return fields_(device, static_cast<int>(values.size()), values.data());
  }

  // Each way, of the wires: no payload is faster. 0: not known.
  double pcie_bytes_per_s(Handle device) const {
    constexpr std::array kTransfers{0.0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};  // a second, per lane
    unsigned generation = 0;
    unsigned width = 0;
    if (generation_ == nullptr || width_ == nullptr || generation_(device, &generation) != 0 ||
        width_(device, &width) != 0 || generation >= kTransfers.size())
      return 0;
    return kTransfers[generation] * width / 8;
  }

 private:
  Library library_;
  int (*init_)() = nullptr;
  int (*by_uuid_)(const char*, Handle*) = nullptr;
  int (*fields_)(Handle, int, FieldValue*) = nullptr;
  int (*generation_)(Handle, unsigned*) = nullptr;
  int (*width_)(Handle, unsigned*) = nullptr;
};

// Loaded once: to begin with it takes a while. Throws BackendUnavailable.
const Nvml& nvml() {
  static const Nvml one;
  return one;
}

// Fields of one GPU: a pair for each link.
class Fields {
 public:
  explicit Fields(Handle device) : device_(device) {}

  void add(unsigned sent, unsigned received, unsigned scope) {
    values_.push_back({sent, scope, 0, 0, 0, 0, 0});
    values_.push_back({received, scope, 0, 0, 0, 0, 0});
  }

  // Of each pair the values; nothing where one cannot be read.
  std::vector<std::optional<LinkBytes>> read() {
    const int status = nvml().read(device_, values_);
    std::vector<std::optional<LinkBytes>> all;
    for (std::size_t i = 0; i < values_.size(); i += 2) {
      auto& bytes = all.emplace_back();
      error_ = status != 0              ? status
               : values_[i].status != 0 ? values_[i].status
                                        : values_[i + 1].status;
      if (error_ == 0) bytes = LinkBytes{values_[i].value, values_[i + 1].value};
    }
    return all;
  }
  int error() const { return error_; }  // of the pair read last

 private:
  Handle device_;
  std::vector<FieldValue> values_;
  int error_ = 0;
};

void in_bytes(std::vector<std::optional<LinkBytes>>& all, std::uint64_t unit) {
  for (auto& bytes : all)
    if (bytes) bytes = LinkBytes{bytes->sent * unit, bytes->received * unit};
}

class Nvlink final : public CounterSource {
 public:
  Nvlink(Handle device, const std::string& gpu) : all_(device), links_{{kNvlink, gpu}} {
    all_.add(kNvlinkSent, kNvlinkReceived, kAllLinks);
  }

  const std::vector<CountedLink>& links() const override { return links_; }
  std::vector<std::optional<LinkBytes>> read() override {
    auto bytes = all_.read();
    in_bytes(bytes, kKiB);
    return bytes;
  }
  int error() const { return all_.error(); }

 private:
  Fields all_;
  std::vector<CountedLink> links_;
};

class Pcie final : public CounterSource {
 public:
  Pcie(Handle device, const std::string& gpu)
      : both_(device), links_{{kPcie, gpu, kPcieWraps, nvml().pcie_bytes_per_s(device)}} {
    both_.add(kPcieSent, kPcieReceived, 0);
  }

  const std::vector<CountedLink>& links() const override { return links_; }
  std::vector<std::optional<LinkBytes>> read() override {
    auto bytes = both_.read();
    // Drivers leave the upper half of such a value as it was.
    for (auto& link : bytes)
      if (link) link = LinkBytes{link->sent % kPcieWraps, link->received % kPcieWraps};
    return bytes;
  }
  int error() const { return both_.error(); }

 private:
  Fields both_;
  std::vector<CountedLink> links_;
};

template <class Source>
void add_counted(Handle device, const CounterScope& scope, OpenedSources& opened) {
  auto source = std::make_unique<Source>(device, scope.gpu);
  if (source->read().front())
    opened.sources.push_back(std::move(source));
  else
    opened.unread.push_back(
        {source->links().front().kind,
         "NVML does not count it on this GPU (error " + std::to_string(source->error()) + ")"});
}

const RegisterSource nvml_source([](const CounterScope& scope, OpenedSources& opened) {
  if (scope.gpu.empty() || pci_vendor(scope) == kAmd) return;
  try {
    const Handle device = nvml().device(scope.gpu);
    add_counted<Nvlink>(device, scope, opened);
    add_counted<Pcie>(device, scope, opened);
  } catch (const BackendUnavailable& error) {
    for (const char* kind : {kNvlink, kPcie}) opened.unread.push_back({kind, error.what()});
  }
});

}  // namespace
}  // namespace nearpeak
