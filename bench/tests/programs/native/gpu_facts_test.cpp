// SPDX-License-Identifier: Apache-2.0
// The facts of the mode `gpu`, on the fake driver.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "programs/native/gpu.hpp"
#include "tests/accel/fake.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

GpuOptions facts_of(const std::vector<std::string>& metrics, const std::string& buffers,
                    const std::vector<std::string>& devices, const std::string& sizes,
                    const RecordFile& file) {
  GpuOptions options;
  options.mode.common = short_run(sizes, file.path());
  options.mode.cpus = rank_cpus();
  options.mode.metrics = metrics;
  options.devices = devices;
  options.buffers = buffers;
  return options;
}

int run_facts(const GpuOptions& options, const std::string& fake = "",
              const std::string& nvrtc = kNoNvrtc, const std::string& said = "/dev/null") {
  const FakeCuda driver(fake, FAKE_CUDA_FORKED, nvrtc);
  return in_own_process([&] { return run_gpu(options, {}); }, said);
}

int run_facts_with_kernels(const GpuOptions& options, const std::string& said = "/dev/null") {
  return run_facts(options, "", FAKE_NVRTC, said);
}

}  // namespace

TEST_CASE("opening memory is a fact by itself, and what needs kernels is skipped with the reason") {
  const RecordFile file;
  CHECK(run_facts(facts_of({"ipc_open", "flag_latency", "device_latency"}, "D,D", {"0", "1"},
                           "0,64,100000", file)) == kGood);
  std::set<std::size_t> sizes;
  for (const auto& record : file.records("samples")) {
    CHECK(record["benchmark"] == record["metric"]);
    CHECK(record["metric"] == "ipc_open");
    CHECK(record["method"] == "ipc");
    CHECK(record["unit"] == "us");
    CHECK(record["better"] == "lower");
    CHECK(record["axes"]["reuse"] == "fixed");
    CHECK(record["samples"].size() >= 2);
    CHECK(record["first_use_us"] > 0);
    sizes.insert(record["size_bytes"].get<std::size_t>());
  }
  CHECK(sizes == std::set<std::size_t>{64, 100000});
  const auto problems = file.records("problem");
  REQUIRE(problems.size() == 2);
  for (const auto& problem : problems) {
    CHECK(problem["status"] == "skipped");
    CHECK(problem["method"] == "kernel");
    CHECK(problem["message"].get<std::string>().find("/nowhere") != std::string::npos);
  }
  CHECK(problems[0]["size_bytes"] == 8);
  CHECK(problems[1]["size_bytes"] == 64);
}

TEST_CASE("the driver is asked of memory of each kind, by the end with a device that leads") {
  const RecordFile file;
  const std::vector<std::string> metrics{"pointer_query", "pointer_queries",
                                         "runtime_pointer_query"};
  CHECK(run_facts(facts_of(metrics, "D,H", {"0", "1"}, "8,64", file)) == kGood);
  std::map<std::string, std::set<std::string>> kinds;
  for (const auto& record : file.records("samples")) {
    CHECK(record["size_bytes"] == 0);
    CHECK(record["unit"] == "us");
    kinds[record["metric"]].insert(record["method"].get<std::string>());
  }
  const std::set<std::string> all{"host", "pinned", "device", "managed"};
  // CUDA's runtime, where it is here, does not know this driver.
  CHECK(kinds == std::map<std::string, std::set<std::string>>{{"pointer_query", all},
                                                              {"pointer_queries", all}});
  CHECK(file.records("problem").empty());
  const RecordFile none;
  CHECK(run_facts(facts_of(metrics, "H,D", {"-", "0"}, "8", none)) == kGood);
  CHECK(none.records("samples").empty());
}

TEST_CASE("a reason at one end of a fact is told once for both") {
  struct Fault {
    const char* metric;
    const char* fault;
    const char* call;
  };
  // Only the leader opens; only the other exports for ipc_open.
  for (const Fault& each : {Fault{"ipc_open", "cuIpcOpenMemHandle_v2:46", "cuIpcOpenMemHandle"},
                            Fault{"ipc_open", "cuIpcGetMemHandle:46", "cuIpcGetMemHandle"},
                            Fault{"device_latency", "peer=0", "cuIpcOpenMemHandle"},
                            Fault{"flag_latency", "cuMemHostRegister_v2:1", "cuMemHostRegister"}}) {
    CAPTURE(each.fault);
    const RecordFile file;
    CHECK(run_facts(facts_of({each.metric}, "D,D", {"0", "1"}, "64", file), each.fault,
                    FAKE_NVRTC) == kGood);
    CHECK(file.records("samples").empty());
    const auto problems = file.records("problem");
    REQUIRE(problems.size() == 1);
    CHECK(problems[0]["status"] == "skipped");
    CHECK(problems[0]["message"].get<std::string>().find(each.call) != std::string::npos);
  }
}

TEST_CASE("a kernel answers flags, and kernels on two devices pass messages") {
  // Other programs may take the CPUs for longer than a kernel on a device ever waits.
  const Variable patient("NEARPEAK_FAKE_NVRTC", "> patience_ns=>> 30 * patience_ns");
  struct Ends {
    const char* buffers;
    std::vector<std::string> devices;
    std::set<std::size_t> passed;
  };
  for (const Ends& ends :
       {Ends{"D,D", {"0", "1"}, {7, 50001}}, Ends{"D,D", {"0", "0"}, {}},
        Ends{"H,D", {"-", "0"}, {}}, Ends{"D,H", {"1", "-"}, {}}, Ends{"M,D", {"0", "1"}, {}}}) {
    const std::string buffers = ends.buffers;
    CAPTURE(buffers);
    const RecordFile file;
    CHECK(run_facts_with_kernels(facts_of({"flag_latency", "device_latency"}, ends.buffers,
                                          ends.devices, "0,7,50001,100000", file)) == kGood);
    CHECK(file.records("problem").empty());
    std::set<std::size_t> flags;
    std::set<std::size_t> passed;
    for (const auto& record : file.records("samples")) {
      CHECK(record["method"] == "kernel");
      CHECK(record["unit"] == "us");
      CHECK(record["buffers"] == ends.buffers);
      CHECK(record["samples"].size() >= 2);
      for (const auto& sample : record["samples"]) CHECK(sample > 0);
      (record["metric"] == "flag_latency" ? flags : passed)
          .insert(record["size_bytes"].get<std::size_t>());
    }
    CHECK(flags == std::set<std::size_t>{8});
    CHECK(passed == ends.passed);
  }
}

TEST_CASE("a wrong byte of a message between kernels is seen") {
  const Variable defect("NEARPEAK_FAKE_NVRTC",
                        "((u64*)in)[i] = word;=>((u64*)in)[i] = word ^ (i == 3);");
  const RecordFile file;
  CHECK(run_facts_with_kernels(facts_of({"device_latency"}, "D,D", {"0", "1"}, "16,64", file)) ==
        kWrongData);
  const auto problems = file.records("problem");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0]["status"] == "wrong data");
  CHECK(problems[0]["method"] == "kernel");
  CHECK(problems[0]["size_bytes"] == 64);
  CHECK(problems[0]["byte"] == 24);
  REQUIRE(file.records("samples").size() == 1);
  CHECK(file.records("samples")[0]["size_bytes"] == 16);
}

TEST_CASE("messages that do not come are a reason, and nobody waits for ever") {
  const Variable impatient("NEARPEAK_FAKE_NVRTC", "bool gave_up = false;=>bool gave_up = true;");
  const RecordFile file;
  CHECK(run_facts_with_kernels(
            facts_of({"device_latency", "flag_latency"}, "D,D", {"0", "1"}, "64", file)) == kGood);
  REQUIRE(file.records("problem").size() == 1);
  CHECK(file.records("problem")[0]["message"] ==
        "no message came from the kernel on the other GPU");
  REQUIRE(file.records("samples").size() == 1);
  CHECK(file.records("samples")[0]["metric"] == "flag_latency");
}

TEST_CASE("a kernel that answers no flags ends both processes") {
  const Variable defect("NEARPEAK_FAKE_NVRTC", "if (value == ~0ULL) return;=>return;");
  const RecordFile file;
  const RecordFile said;
  CHECK(run_facts_with_kernels(facts_of({"flag_latency"}, "H,D", {"-", "0"}, "8", file),
                               said.path()) == kFailed);
  std::ifstream lines(said.path());
  const std::string all{std::istreambuf_iterator<char>(lines), {}};
  CHECK_MESSAGE(all.find("the kernel that answers flags has given up") != std::string::npos, all);
}

TEST_CASE("more than two ranks have no facts") {
  const RecordFile file;
  GpuOptions options = facts_of({"ipc_open", "flag_latency", "device_latency"}, "D,D",
                                {"0", "0", "1", "1"}, "64", file);
  const auto cpus = two_cpus();
  options.mode.cpus.insert(options.mode.cpus.end(), cpus.begin(), cpus.end());
  CHECK(run_facts_with_kernels(options) == kGood);
  CHECK(file.records("samples").empty());
  CHECK(file.records("problem").empty());
}
