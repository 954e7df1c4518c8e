// SPDX-License-Identifier: Apache-2.0
// The accelerators that this process can use, and why a backend was not taken.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "accel/accelerator.hpp"
#include "programs/native/mode.hpp"

namespace nearpeak {
namespace {

std::string bytes_text(std::uint64_t bytes) { return std::to_string(bytes) + " B"; }

class DevicesMode final : public Mode {
 public:
  DevicesMode()
      : Mode("devices",
             "the accelerators of this machine: index, name, UUID, PCI address, memory, L2 cache; "
             "it measures nothing") {}

  std::vector<Metric> metrics() const override { return {}; }

  void add_options(CLI::App& app) override {
    verbose_ = false;
    app.add_flag("--verbose", verbose_,
                 "show for each backend what was loaded, or why nothing was");
  }

  int run() override {
    bool any = false;
    for (const Backend& backend : backends()) {
      try {
        const auto accelerator = backend.load();
        if (verbose_) std::printf("%s: %s\n", backend.name.c_str(), accelerator->version().c_str());
        for (const DeviceInfo& info : accelerator->devices()) print(backend.name, info);
        any = true;
      } catch (const BackendUnavailable& error) {
        if (verbose_) std::printf("%s: not taken: %s\n", backend.name.c_str(), error.what());
      }
    }
    if (!any && !verbose_) std::printf("no accelerator; --verbose says why\n");
    return kGood;
  }

 private:
  static void print(const std::string& backend, const DeviceInfo& info) {
    std::printf("%s %d", backend.c_str(), info.index);
    if (!info.uuid.empty())
      std::printf("  %s  %s  %s  memory %s  L2 %s", info.name.c_str(), info.uuid.c_str(),
                  info.pci.empty() ? "-" : info.pci.c_str(), bytes_text(info.memory_bytes).c_str(),
                  bytes_text(info.l2_bytes).c_str());
    if (!info.unusable.empty()) std::printf("  unusable: %s", info.unusable.c_str());
    std::printf("\n");
  }

  bool verbose_ = false;
};

const RegisterMode<DevicesMode> devices_mode;

}  // namespace
}  // namespace nearpeak
