// SPDX-License-Identifier: Apache-2.0
// XGMI of AMD's GPUs: what was read and written over each link since the driver was loaded, in KiB,
// from the table `gpu_metrics` that amdgpu shows in sysfs. Where it stands depends on the table's
// version (Linux, drivers/gpu/drm/amd/include/kgd_pp_interface.h).
#include <array>
#include <cstring>

#include "counters/files.hpp"
#include "counters/source.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kLinks = 8;
constexpr std::uint64_t kUnit = 1024;

// Of xgmi_read_data_acc in gpu_metrics_v1_N, behind which is xgmi_write_data_acc; 0: it has none.
std::size_t offset_in(const std::string& table) {
  if (table.size() < 4 || table[2] != 1) return 0;
  switch (table[3]) {
    case 4:
      return 104;
    case 5:
      return 176;
    case 6:
      return 128;
    case 7:
    case 8:
      return 136;
    default:
      return 0;
  }
}

// Nothing where the table has none, or the driver says that it does not count them.
std::optional<std::vector<LinkBytes>> links_in(const std::string& table) {
  const std::size_t offset = offset_in(table);
  std::array<std::uint64_t, 2 * kLinks> kib{};
  if (offset == 0 || table.size() < offset + sizeof kib) return std::nullopt;
  std::memcpy(kib.data(), table.data() + offset, sizeof kib);
  std::vector<LinkBytes> links;
  for (std::size_t link = 0; link < kLinks; ++link) {
    const std::uint64_t read = kib[link];
    const std::uint64_t written = kib[kLinks + link];
    if (read == ~std::uint64_t{0} || written == ~std::uint64_t{0}) return std::nullopt;
    links.push_back({written * kUnit, read * kUnit});
  }
  return links;
}

class Xgmi final : public CounterSource {
 public:
  Xgmi(const std::string& path, const std::string& gpu) : file_(path), links_{{kXgmi, gpu}} {}

  const std::vector<CountedLink>& links() const override { return links_; }
  std::vector<std::optional<LinkBytes>> read() override {
    const auto text = file_.text();
    const auto all = text ? links_in(*text) : std::nullopt;
    if (!all) return {std::nullopt};
    LinkBytes sum;
    for (const LinkBytes& link : *all) {
      sum.sent += link.sent;
      sum.received += link.received;
    }
    return {sum};
  }

 private:
  CounterFile file_;
  std::vector<CountedLink> links_;
};

const RegisterSource xgmi([](const CounterScope& scope, OpenedSources& opened) {
  if (scope.gpu.empty() || pci_vendor(scope) != kAmd) return;
  auto one = std::make_unique<Xgmi>(pci_folder(scope) + "gpu_metrics", scope.gpu);
  if (one->read().front())
    opened.sources.push_back(std::move(one));
  else
    opened.unread.push_back({kXgmi,
                             "gpu_metrics of this GPU has no XGMI counters (version 1.4 to "
                             "1.8 has, of MI300)"});
});

}  // namespace
}  // namespace nearpeak
