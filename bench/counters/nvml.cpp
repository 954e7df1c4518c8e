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

// A kind of links, and the fields that count what it sends and receives.
struct Fields {
  const char* kind;
  unsigned sent;
  unsigned received;
  unsigned scope;
  std::uint64_t unit;
  std::uint64_t wraps_at;
};
constexpr std::array kCounted{
    Fields{kNvlink, kNvlinkSent, kNvlinkReceived, kAllLinks, kKiB, 0},
    Fields{kPcie, kPcieSent, kPcieReceived, 0, 1, kPcieWraps},
};

// All links of one GPU: NVML is called once for all fields of a reading.
class Gpu final : public CounterSource {
 public:
  // Reads once; leaves out what the driver does not count, with the reason.
  Gpu(Handle device, const std::string& gpu, std::vector<Unread>& unread)
      : device_(device), fields_(kCounted.begin(), kCounted.end()) {
    const auto bytes = read();
    std::vector<Fields> counted;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const Fields& link = fields_[i];
      if (!bytes[i]) {
        unread.push_back({link.kind, "NVML does not count it on this GPU (error " +
                                         std::to_string(errors_[i]) + ")"});
        continue;
      }
      counted.push_back(link);
      const double rate = link.wraps_at == 0 ? 0 : nvml().pcie_bytes_per_s(device);
      links_.push_back({link.kind, gpu, link.wraps_at, rate});
    }
    fields_ = std::move(counted);
  }

  const std::vector<CountedLink>& links() const override { return links_; }
  std::vector<std::optional<LinkBytes>> read() override { return ask(fields_); }
  // Of NVLink alone a reading takes five times as long as of PCIe.
  std::vector<std::optional<LinkBytes>> read_wrapping() override {
    std::vector<Fields> wrapping;
    for (const Fields& link : fields_)
      if (link.wraps_at != 0) wrapping.push_back(link);
    const auto read = ask(wrapping);
    std::vector<std::optional<LinkBytes>> all;
    auto next = read.begin();
    for (const Fields& link : fields_) all.push_back(link.wraps_at != 0 ? *next++ : std::nullopt);
    return all;
  }

 private:
  std::vector<std::optional<LinkBytes>> ask(const std::vector<Fields>& fields) {
    std::vector<FieldValue> values;
    for (const Fields& link : fields) {
      values.push_back({link.sent, link.scope, 0, 0, 0, 0, 0});
      values.push_back({link.received, link.scope, 0, 0, 0, 0, 0});
    }
    const int status = nvml().read(device_, values);
    std::vector<std::optional<LinkBytes>> all;
    errors_.clear();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const FieldValue& sent = values[2 * i];
      const FieldValue& received = values[2 * i + 1];
      errors_.push_back(status != 0 ? status : sent.status != 0 ? sent.status : received.status);
      auto& bytes = all.emplace_back();
      if (errors_.back() == 0)
        bytes = LinkBytes{in_bytes(sent, fields[i]), in_bytes(received, fields[i])};
    }
    return all;
  }
  // Drivers leave the upper half of a value of 32 bits as it was.
  static std::uint64_t in_bytes(const FieldValue& value, const Fields& link) {
    return (link.wraps_at != 0 ? value.value % link.wraps_at : value.value) * link.unit;
  }

  Handle device_;
  std::vector<Fields> fields_;
  std::vector<int> errors_;  // of the links read last
  std::vector<CountedLink> links_;
};

const RegisterSource nvml_source([](const CounterScope& scope, OpenedSources& opened) {
  if (scope.gpu.empty() || pci_vendor(scope) == kAmd) return;
  if (scope.gpu.rfind("MIG-", 0) == 0) {
    for (const Fields& link : kCounted)
      opened.unread.push_back(
          {link.kind, "the counters are of the whole GPU, not of a MIG instance"});
    return;
  }
  try {
    auto gpu = std::make_unique<Gpu>(nvml().device(scope.gpu), scope.gpu, opened.unread);
    if (!gpu->links().empty()) opened.sources.push_back(std::move(gpu));
  } catch (const BackendUnavailable& error) {
    for (const Fields& link : kCounted) opened.unread.push_back({link.kind, error.what()});
  }
});

}  // namespace
}  // namespace nearpeak
