// SPDX-License-Identifier: Apache-2.0
// On the fake driver: copy engines without kernels first, then kernels.
#include "programs/native/gpu.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/accel/fake.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

constexpr const char* kFirst = "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0";
constexpr const char* kSecond = "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1";

GpuOptions short_gpu(const std::string& buffers, const std::vector<std::string>& devices,
                     const std::string& sizes, const RecordFile& file) {
  GpuOptions options;
  options.mode.common = short_run(sizes, file.path());
  options.mode.common.window = 5;
  options.mode.cpus = rank_cpus();
  options.devices = devices;
  options.buffers = buffers;
  return options;
}

int run(const GpuOptions& options, const std::string& fake = "",
        const std::vector<GpuMethod>& methods = gpu_methods()) {
  const FakeCuda driver(fake, FAKE_CUDA_FORKED);
  return in_own_process([&] { return run_gpu(options, methods); });
}

// With kernels; of the methods, only those of kernels.
int run_kernels(const GpuOptions& options, const std::string& fake = "",
                const std::string& said = "/dev/null") {
  const FakeCuda driver(fake, FAKE_CUDA_FORKED, FAKE_NVRTC);
  std::vector<GpuMethod> methods;
  for (const GpuMethod& method : gpu_methods())
    if (method.name.rfind("sm", 0) == 0 || method.name == "resident") methods.push_back(method);
  return in_own_process([&] { return run_gpu(options, methods); }, said);
}

GpuMethod method_named(const std::string& name) {
  for (const GpuMethod& method : gpu_methods())
    if (method.name == name) return method;
  throw std::runtime_error("no method " + name);
}

std::set<std::string> methods_of(const std::vector<nlohmann::json>& records) {
  std::set<std::string> out;
  for (const auto& record : records) out.insert(record["method"].get<std::string>());
  return out;
}

// As `ce`, and then something bad at one end.
GpuMethod poisoned(const std::function<void(const GpuEnd&)>& poison) {
  class Poisoned final : public Transport {
   public:
    Poisoned(const GpuEnd& end, std::function<void(const GpuEnd&)> poison_it)
        : end_(end), whole_(method_named("ce").make(end)), poison_(std::move(poison_it)) {}
    void begin_send(std::size_t slot, std::size_t bytes) override {
      whole_->begin_send(slot, bytes);
    }
    void begin_receive(std::size_t slot, std::size_t bytes) override {
      whole_->begin_receive(slot, bytes);
      received_ = true;
    }
    void finish() override {
      whole_->finish();
      if (received_) poison_(end_);
      received_ = false;
    }

   private:
    const GpuEnd& end_;
    std::unique_ptr<Transport> whole_;
    std::function<void(const GpuEnd&)> poison_;
    bool received_ = false;
  };
  GpuMethod method = method_named("ce");
  method.name = "poisoned";
  method.make = [poison](const GpuEnd& end) { return std::make_unique<Poisoned>(end, poison); };
  return method;
}

}  // namespace

TEST_CASE("every method of copy engines moves every size between every kind of ends rightly") {
  struct Ends {
    const char* buffers;
    std::vector<std::string> devices;
    std::set<std::string> methods;
  };
  const std::set<std::string> all{"ce",      "ce-poll", "ce2",         "ce4",
                                  "ce-pull", "ce-one",  "staged-128K", "staged-1M"};
  const std::set<std::string> one_way_in{"ce", "ce-poll", "ce2", "ce4"};
  const std::set<std::string> managed{"ce", "ce-poll", "ce2", "ce4", "staged-128K", "staged-1M"};
  const std::set<std::string> pageable{"ce", "ce-poll", "ce2", "ce4", "pageable"};
  for (const Ends& ends : {Ends{"D,D", {"0", kSecond}, all}, Ends{"D,D", {"1", "cuda:1"}, all},
                           Ends{"H,D", {"-", "0"}, pageable}, Ends{"D,H", {"1", "-"}, pageable},
                           Ends{"H,D", {"1", "0"}, pageable}, Ends{"D,H", {"0", "0"}, pageable},
                           Ends{"P,D", {"-", "0"}, one_way_in}, Ends{"M,D", {"0", "1"}, managed},
                           Ends{"M,H", {kFirst, "-"}, pageable}}) {
    const std::string buffers = ends.buffers;
    CAPTURE(buffers);
    const RecordFile file;
    const GpuOptions options = short_gpu(ends.buffers, ends.devices, "0,7,100001", file);
    CHECK(run(options) == kGood);
    const auto samples = file.records("samples");
    CHECK(methods_of(samples) == ends.methods);
    for (const auto& record : samples) {
      CHECK(record["benchmark"] == record["metric"]);
      CHECK(record["buffers"] == ends.buffers);
      CHECK(record["axes"]["reuse"] == "fixed");
      CHECK(record["window"] == (record["metric"] == "latency" ? 1 : 5));
      CHECK_FALSE(record["samples"].empty());
    }
    for (const std::string metric : {"latency", "bw", "bibw"})
      for (const std::size_t bytes : options.mode.common.ordered_sizes())
        CHECK(std::any_of(samples.begin(), samples.end(), [&](const auto& record) {
                return record["metric"] == metric && record["size_bytes"] == bytes;
              }) == (bytes > 0 || metric == "latency"));
    // Kernels are skipped with the reason.
    for (const auto& problem : file.records("problem")) {
      CHECK(problem["status"] == "skipped");
      const std::string method = problem["method"];
      CHECK((method.substr(0, 2) == "sm" || method.substr(0, 8) == "resident"));
      CHECK(problem["message"].get<std::string>().find("/nowhere") != std::string::npos);
    }
  }
}

TEST_CASE("rotating buffers are all visited and verified") {
  const RecordFile file;
  GpuOptions options = short_gpu("D,D", {"0", "1"}, "64", file);
  options.mode.common.reuse = "rotating";
  options.mode.common.window = 4096;
  options.mode.metrics = {"bw"};
  const std::size_t cache = *options.mode.common.cache;
  const auto count = [cache](const GpuEnd& end) {
    if (end.messages.slots * 64 <= 2 * cache) throw std::runtime_error("too few slots");
  };
  CHECK(run(options, "", {method_named("ce-pull"), poisoned(count)}) == kGood);
  REQUIRE(file.records("samples").size() == 2);
  CHECK(file.records("samples")[0]["axes"]["reuse"] == "rotating");
}

TEST_CASE("the records name the device of each end") {
  const RecordFile file;
  CHECK(run(short_gpu("H,D", {"-", "1"}, "8", file)) == kGood);
  REQUIRE(file.records("environment").size() == 1);
  const auto ranks = file.records("environment")[0]["ranks"];
  CHECK(ranks[0]["device"].is_null());
  CHECK(ranks[1]["device"]["uuid"] == kSecond);
  CHECK(ranks[1]["device"]["name"] == "Fake GPU B");
}

TEST_CASE("a wrong byte in device memory is seen, and the other methods are measured") {
  for (const int rank : {0, 1}) {
    const RecordFile file;
    GpuOptions options = short_gpu("D,D", {"0", "1"}, "1000", file);
    options.mode.metrics = {"latency"};
    const auto flip = [rank](const GpuEnd& end) {
      if (end.messages.rank != rank) return;
      char byte = 0;
      end.device->copy(&byte, end.in.slot(0) + 5, 1);
      byte = static_cast<char>(byte ^ 1);
      end.device->copy(end.in.slot(0) + 5, &byte, 1);
    };
    CHECK(run(options, "", {poisoned(flip), method_named("ce-pull")}) == kWrongData);
    const auto problems = file.records("problem");
    REQUIRE(problems.size() == 1);
    CHECK(problems[0]["status"] == "wrong data");
    CHECK(problems[0]["method"] == "poisoned");
    CHECK(problems[0]["rank"] == rank);
    CHECK(problems[0]["byte"] == 5);
    CHECK(methods_of(file.records("samples")) == std::set<std::string>{"ce-pull"});
  }
}

TEST_CASE("a copy that was left out is seen") {
  const RecordFile file;
  GpuOptions options = short_gpu("D,D", {"0", "1"}, "1000", file);
  class Lazy final : public Transport {
    void begin_send(std::size_t, std::size_t) override {}
    void begin_receive(std::size_t, std::size_t) override {}
    void finish() override {}
  };
  GpuMethod lazy = method_named("ce");
  lazy.make = [](const GpuEnd&) { return std::make_unique<Lazy>(); };
  CHECK(run(options, "", {lazy}) == kWrongData);
  CHECK(file.records("samples").empty());
}

TEST_CASE("an error of the driver in the middle ends both processes") {
  for (const char* fault : {"cuMemcpyAsync:46:300", "cuStreamSynchronize:46:300"}) {
    const RecordFile file;
    CHECK(run(short_gpu("D,D", {"0", "1"}, "8,64K", file), fault) == kFailed);
  }
}

TEST_CASE("a method that cannot be set up at one end is skipped at both, and the others go on") {
  const RecordFile file;
  CHECK(run(short_gpu("D,D", {"0", "1"}, "64K", file), "cuStreamCreateWithPriority:46:5") == kGood);
  const auto problems = file.records("problem");
  CHECK(std::any_of(problems.begin(), problems.end(), [](const auto& problem) {
    CHECK(problem["status"] == "skipped");
    return problem["message"].template get<std::string>().find("cuStreamCreate") !=
           std::string::npos;
  }));
  CHECK_FALSE(file.records("samples").empty());
}

TEST_CASE("a resident kernel takes no window that its places cannot hold") {
  for (const std::uint64_t window : {255, 256}) {
    const RecordFile file;
    GpuOptions options = short_gpu("D,D", {"0", "1"}, "64", file);
    options.mode.metrics = {"bibw"};
    options.mode.methods = {"resident", "sm-window"};
    options.mode.common.window = window;
    CHECK(run_kernels(options) == kGood);
    CHECK(methods_of(file.records("samples")).count("resident") == (window == 255 ? 1 : 0));
  }
}

TEST_CASE("what goes through host memory is cut so that both ends have work") {
  // More than the stage holds, and in messages of one chunk, of many, and of less than one.
  const RecordFile file;
  GpuOptions options = short_gpu("D,D", {"0", "1"}, "3,128K,1000001,6M", file);
  options.mode.common.in_flight = "64M";
  options.mode.common.window = 9;
  options.mode.common.least_samples = 2;
  CHECK(run(options, "", {method_named("staged-128K"), method_named("staged-1M")}) == kGood);
  CHECK(file.records("problem").empty());
  CHECK(file.records("samples").size() == 3 * 4 * 2);
}

TEST_CASE("where processes may not share device memory they go through the host's") {
  for (const char* fault : {"cuIpcGetMemHandle:46", "cuIpcOpenMemHandle_v2:46", "peer=0"}) {
    const RecordFile file;
    CHECK(run(short_gpu("D,D", {"0", "1"}, "8", file), fault) == kGood);
    CHECK(methods_of(file.records("samples")) == std::set<std::string>{"staged-128K", "staged-1M"});
    const auto problems = file.records("problem");
    CHECK(methods_of(problems).count("ce") == 1);
    for (const auto& problem : problems)
      if (problem["method"] == "ce")
        CHECK(problem["message"].get<std::string>().find("cuIpc") != std::string::npos);
    const RecordFile host;
    CHECK(run(short_gpu("H,D", {"-", "1"}, "8", host), fault) == kGood);
    CHECK_FALSE(host.records("samples").empty());
  }
}

TEST_CASE("where neither is possible there is no ceiling, and both reasons are told") {
  const RecordFile file;
  CHECK(run(short_gpu("D,D", {"0", "1"}, "8", file), "peer=0,cuMemHostRegister_v2:1") == kGood);
  CHECK(file.records("samples").empty());
  std::string said;
  for (const auto& problem : file.records("problem")) said += problem["message"];
  CHECK(said.find("cuIpcOpenMemHandle") != std::string::npos);
  CHECK(said.find("cuMemHostRegister") != std::string::npos);
}

TEST_CASE("where host memory cannot be registered pageable copies remain") {
  const RecordFile file;
  CHECK(run(short_gpu("H,D", {"-", "0"}, "8", file), "cuMemHostRegister_v2:1") == kGood);
  CHECK(methods_of(file.records("samples")) == std::set<std::string>{"pageable"});
  CHECK(methods_of(file.records("problem")).count("ce") == 1);
}

TEST_CASE("a size that the device has no memory for is skipped, and the others go on") {
  const RecordFile file;
  GpuOptions options = short_gpu("D,H", {"0", "-"}, "8,4K,16", file);
  options.mode.metrics = {"bw"};
  // An exchange allocates twice: this is the second one's first.
  CHECK(run(options, "cuMemAlloc_v2:2:3") == kGood);
  int without = 0;
  for (const auto& problem : file.records("problem")) {
    if (problem["size_bytes"] != 4096) continue;
    ++without;
    CHECK(problem["method"].is_null());
    CHECK(problem["message"].get<std::string>().find("CUDA_ERROR_OUT_OF_MEMORY") !=
          std::string::npos);
  }
  CHECK(without == 1);
  std::set<std::size_t> sizes;
  for (const auto& record : file.records("samples"))
    sizes.insert(record["size_bytes"].get<std::size_t>());
  CHECK(sizes == std::set<std::size_t>{8, 16});
}

TEST_CASE("devices that are not there") {
  const RecordFile file;
  CHECK(run(short_gpu("D,D", {"0", "1"}, "8", file), "devices=0") == kBadInput);
  CHECK(run(short_gpu("D,D", {"0", "1"}, "8", file), "prohibited=1") == kFailed);
  CHECK(run(short_gpu("D,D", {"0", "2"}, "8", file)) == kBadInput);
  CHECK(run(short_gpu("D,D", {"GPU-unknown", "0"}, "8", file)) == kBadInput);
  CHECK(run(short_gpu("D,D", {"nonsense:0", "0"}, "8", file)) == kBadInput);
  CHECK(file.records().empty());
}

TEST_CASE("the reason is told, whichever of the two processes ends first") {
  const FakeCuda driver("devices=0", FAKE_CUDA_FORKED);
  for (int i = 0; i < 50; ++i) {
    const RecordFile file;
    const RecordFile said;
    GpuOptions options = short_gpu("D,D", {"0", "1"}, "8", file);
    options.mode.cpus[1] = options.mode.cpus[0];  // so that they run one after the other
    CHECK(in_own_process([&] { return run_gpu(options, gpu_methods()); }, said.path()) ==
          kBadInput);
    std::ifstream lines(said.path());
    std::string line;
    std::getline(lines, line);  // that they share a CPU
    std::getline(lines, line);
    REQUIRE(line.rfind("nearpeak-native: no device can be used: cuda has none: the driver has no "
                       "device; hip has none: ",
                       0) == 0);
  }
}

TEST_CASE("an end of host memory holds the device that it is given, or none") {
  for (const std::string device : {"-", "0", "1"}) {
    CAPTURE(device);
    const RecordFile file;
    GpuOptions options = short_gpu("H,D", {device, "0"}, "8", file);
    options.mode.metrics = {"latency"};
    CHECK(run(options) == kGood);
    const auto ranks = file.records("environment").at(0)["ranks"];
    if (device == "-")
      CHECK(ranks[0]["device"].is_null());
    else
      CHECK(ranks[0]["device"]["uuid"] == (device == "0" ? kFirst : kSecond));
    CHECK(ranks[1]["device"]["uuid"] == kFirst);
  }
}

TEST_CASE("bad input is refused before anything is written") {
  const RecordFile file;
  const auto refused = [&](const std::string& buffers, const std::vector<std::string>& devices) {
    CHECK_THROWS_AS(run_gpu(short_gpu(buffers, devices, "8", file), gpu_methods()), BadInput);
  };
  refused("H,H", {"-", "-"});
  refused("M,M", {"0", "0"});
  refused("D,D,D", {"0", "0"});
  refused("D,X", {"0", "0"});
  refused("D,D", {"0"});
  refused("D,D", {"0", "-"});
  refused("H,D", {"0", "-"});
  GpuOptions options = short_gpu("D,D", {"0", "1"}, "8", file);
  options.mode.cpus = {0};
  CHECK_THROWS_AS(run_gpu(options, gpu_methods()), BadInput);
  CHECK(file.records().empty());
}

TEST_CASE("every method of kernels moves every size between every kind of ends rightly") {
  struct Ends {
    const char* buffers;
    std::vector<std::string> devices;
    std::set<std::string> methods;
  };
  const std::set<std::string> all{"sm", "sm4", "sm-pull", "sm-one", "sm-window", "resident"};
  const std::set<std::string> some{"sm", "sm4", "sm-window", "resident"};
  for (const Ends& ends :
       {Ends{"D,D", {"0", "1"}, all}, Ends{"D,D", {"1", "1"}, all}, Ends{"H,D", {"-", "0"}, some},
        Ends{"H,D", {"0", "1"}, some}, Ends{"D,H", {"1", "1"}, some}, Ends{"D,H", {"1", "-"}, some},
        Ends{"P,D", {"-", "0"}, some}, Ends{"M,D", {"0", "1"}, some},
        Ends{"M,H", {"0", "-"}, some}}) {
    const std::string buffers = ends.buffers;
    CAPTURE(buffers);
    const RecordFile file;
    const GpuOptions options = short_gpu(ends.buffers, ends.devices, "5,7000,100001", file);
    CHECK(run_kernels(options) == kGood);
    CHECK(file.records("problem").empty());
    const auto samples = file.records("samples");
    CHECK(methods_of(samples) == ends.methods);
    for (const std::string metric : {"latency", "bw", "bibw"})
      for (const std::size_t bytes : options.mode.common.ordered_sizes())
        CHECK(std::any_of(samples.begin(), samples.end(), [&](const auto& record) {
          return record["metric"] == metric && record["size_bytes"] == bytes;
        }));
  }
}

TEST_CASE("a wrong byte that a kernel stores is seen") {
  const Variable defect("NEARPEAK_FAKE_NVRTC", "look(from + b);=>look(from + b) ^ (b == 1000);");
  const RecordFile file;
  GpuOptions options = short_gpu("D,D", {"0", "1"}, "1001,64", file);
  options.mode.metrics = {"bw"};
  CHECK(run_kernels(options) == kWrongData);
  std::set<std::string> wrong;
  for (const auto& problem : file.records("problem")) {
    CHECK(problem["status"] == "wrong data");
    CHECK(problem["size_bytes"] == 1001);
    CHECK(problem["byte"] == 1000);
    wrong.insert(problem["method"].get<std::string>());
  }
  CHECK(wrong == std::set<std::string>{"sm", "sm4", "sm-pull", "sm-window", "resident"});
  for (const auto& record : file.records("samples")) CHECK(record["size_bytes"] == 64);
  CHECK(methods_of(file.records("samples")) == wrong);
}

TEST_CASE("a kernel that cannot be launched is the reason that is told") {
  const std::string text = "on GPU 0: CUDA_ERROR_DEVICE_UNAVAILABLE";
  SUBCASE("from the start nothing of kernels is measured") {
    const RecordFile file;
    const GpuOptions options = short_gpu("D,D", {"0", "0"}, "8", file);
    CHECK(run_kernels(options, "cuLaunchKernel:46") == kGood);
    CHECK(file.records("samples").empty());
    const auto problems = file.records("problem");
    REQUIRE_FALSE(problems.empty());
    for (const auto& problem : problems) {
      CHECK(problem["status"] == "skipped");
      CHECK(problem["message"].get<std::string>().find(text) != std::string::npos);
    }
  }
  SUBCASE("in the middle it ends both processes") {
    for (const char* at : {":40", ":60"}) {
      const RecordFile file;
      const RecordFile said;
      const GpuOptions options = short_gpu("D,D", {"0", "0"}, "8,64K", file);
      CHECK(run_kernels(options, std::string("cuLaunchKernel:46") + at, said.path()) == kFailed);
      std::ifstream lines(said.path());
      const std::string all{std::istreambuf_iterator<char>(lines), {}};
      CHECK_MESSAGE(all.find("cuLaunchKernel(") != std::string::npos, all);
      CHECK(all.find(text) != std::string::npos);
    }
  }
}
