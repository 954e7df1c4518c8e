// SPDX-License-Identifier: Apache-2.0
// Every method and fact on the devices of this machine, with the vendor's own driver and compiler.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>

#include "programs/native/gpu.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

// How many devices CUDA has here, at most 2, found in a process of its own.
int devices_here() {
  return in_own_process([] {
    for (const Backend& backend : backends()) {
      if (backend.name != "cuda") continue;
      try {
        return static_cast<int>(std::min<std::size_t>(backend.load()->devices().size(), 2));
      } catch (const BackendUnavailable&) {
      }
    }
    return 0;
  });
}

std::set<std::string> measured(const RecordFile& file, const std::string& metric) {
  std::set<std::string> out;
  for (const auto& record : file.records("samples"))
    if (record["metric"] == metric) out.insert(record["method"].get<std::string>());
  return out;
}

void run_real(const std::string& buffers, const std::vector<std::string>& devices,
              const RecordFile& file) {
  GpuOptions options;
  options.mode.common = short_run("0,1,7,4K,100001,4M", file.path());
  options.mode.common.slot_ms = 5;
  options.mode.common.in_flight = "64M";
  options.mode.cpus = two_cpus();
  options.mode.metrics = {"latency", "bw", "bibw", "ipc_open", "flag_latency", "device_latency"};
  options.devices = devices;
  options.buffers = buffers;
  CAPTURE(buffers);
  CHECK(in_own_process([&] { return run_gpu(options, gpu_methods()); }) == kGood);
  for (const auto& problem : file.records("problem")) FAIL_CHECK(problem.dump());
}

}  // namespace

TEST_CASE("a real device: every method of mode gpu, within one device") {
  if (devices_here() < 1) {
    MESSAGE("skipped: no CUDA device on this machine");
    return;
  }
  const RecordFile file;
  run_real("D,D", {"cuda:0", "cuda:0"}, file);
  CHECK(measured(file, "latency") == std::set<std::string>{"ce", "ce-poll", "ce-pull", "ce-one",
                                                           "resident", "sm", "sm-pull", "sm-one",
                                                           "staged-128K", "staged-1M"});
  CHECK(measured(file, "bw") == std::set<std::string>{"ce", "ce2", "ce4", "ce-pull", "resident",
                                                      "sm", "sm4", "sm-pull", "sm-window",
                                                      "staged-128K", "staged-1M"});
  CHECK(measured(file, "ipc_open") == std::set<std::string>{"ipc"});
  CHECK(measured(file, "flag_latency") == std::set<std::string>{"kernel"});
  CHECK(measured(file, "device_latency").empty());
}

TEST_CASE("a real device: every method of mode gpu, between host memory and a device") {
  if (devices_here() < 1) {
    MESSAGE("skipped: no CUDA device on this machine");
    return;
  }
  for (const std::string buffers : {"H,D", "D,H", "P,D", "H,M"}) {
    const bool first = buffers[0] == 'D';
    const RecordFile file;
    run_real(
        buffers,
        first ? std::vector<std::string>{"cuda:0", "-"} : std::vector<std::string>{"-", "cuda:0"},
        file);
    std::set<std::string> methods{"ce", "ce-poll", "resident", "sm"};
    if (buffers.find('H') != std::string::npos) methods.insert("pageable");
    CHECK(measured(file, "latency") == methods);
    CHECK(measured(file, "flag_latency") == std::set<std::string>{"kernel"});
  }
}

TEST_CASE("a real device: every method of mode gpu, between two devices") {
  if (devices_here() < 2) {
    MESSAGE("skipped: no two CUDA devices on this machine");
    return;
  }
  const RecordFile file;
  run_real("D,D", {"cuda:0", "cuda:1"}, file);
  CHECK(measured(file, "bibw") ==
        std::set<std::string>{"ce", "ce2", "ce4", "ce-pull", "ce-one", "resident", "sm", "sm4",
                              "sm-pull", "sm-one", "sm-window", "staged-128K", "staged-1M"});
  CHECK(measured(file, "device_latency") == std::set<std::string>{"kernel"});
}
