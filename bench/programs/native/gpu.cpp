// SPDX-License-Identifier: Apache-2.0
// The mode `gpu`: processes of one host with messages on GPUs.
#include "programs/native/gpu.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "accel/kinds.hpp"
#include "group/failure.hpp"
#include "programs/native/process.hpp"

namespace nearpeak {
namespace {

constexpr std::uint64_t kLargestCache = std::uint64_t{1} << 30;  // of any device

std::vector<GpuFact>& facts() {
  static std::vector<GpuFact> all;
  return all;
}

void check_ends(const GpuOptions& options, const Kinds& kinds, int ranks) {
  if (ranks < 2 || ranks % 2 != 0)
    throw BadInput("--cpus of gpu needs an even number of CPUs, one for each process: --cpus 0,1");
  kinds.check(ranks);
  if (static_cast<int>(options.devices.size()) != ranks)
    throw BadInput("--devices of gpu needs a device for each process: --devices 0,1 or -,0");
  for (int rank = 0; rank < ranks; ++rank) {
    const BufferKind kind = kinds.of(rank, ranks);
    const std::string& device = options.devices[rank];
    const std::string end = "end " + std::to_string(rank) + " of --buffers " + options.buffers;
    if (on_device(kind) && device == "-")
      throw BadInput(end + " is on a device: give its index or UUID in --devices, not -");
    const BufferKind peer = kinds.of((rank + ranks / 2) % ranks, ranks);
    if (!on_device(kind) && !on_device(peer))
      throw BadInput("buffers " + options.buffers + " are both in host memory: use mode pair");
    if (kind == BufferKind::kManaged && peer == BufferKind::kManaged)
      throw BadInput(
          "no process can open the managed memory of another: buffers M,M have no ceiling");
  }
}

// Splits what is asked for into benchmarks and facts.
std::vector<GpuFact> take_facts(ModeOptions& options) {
  std::vector<GpuFact> asked;
  for (const GpuFact& fact : facts())
    if (std::erase(options.metrics, fact.metric.name) > 0) asked.push_back(fact);
  return asked;
}

// One of the processes, from its birth.
class GpuProcess {
 public:
  GpuProcess(const GpuOptions& options, const Kinds& kinds,
             const std::vector<const Benchmark*>& asked, const std::vector<GpuFact>& facts,
             const std::vector<GpuMethod>& methods, std::vector<GpuMemory>& memories,
             SharedGroup& group)
      : options_(options),
        asked_(asked),
        facts_(facts),
        methods_(methods),
        memories_(memories),
        group_(group),
        kind_(kinds.of(group.rank(), group.size())),
        peer_kind_(kinds.of(peer_of(group), group.size())) {}

  int run() {
    if (const int status = open(); status != kGood) return status;
    Runner runner(group_, options_.mode.common, options_.mode.naming(options_.buffers));
    std::optional<RankDevice> place;
    if (taken_.device != nullptr) place = rank_device(taken_.device->info());
    runner.count(place);
    open_records(runner, "gpu", place);
    const RankSetup setup{
        .kind = kind_,
        .memory = device_ != nullptr ? device_->memory(kind_) : host_memory(),
        .device = device_,
        .cache_bytes = cache_bytes_,
        .methods = [&](const CaseContext&, const Messages& messages, const Buffers& buffers) {
          return methods(messages, buffers);
        }};
    for_each_case(runner, options_.mode, setup, asked_,
                  [&](const Benchmark& benchmark, const CaseContext& context) {
                    Memory* const out = on_device(kind_) ? nullptr : &own().out;
                    Memory* const in = on_device(kind_) ? nullptr : &own().in;
                    runner.run(benchmark, context, out, in);
                  });
    run_facts(runner);
    group_.barrier();  // nobody's memory goes while another still has it open
    return runner.status();
  }

 private:
  static int peer_of(const Group& group) {
    return (group.rank() + group.size() / 2) % group.size();
  }
  GpuMemory& memory_of(int rank) { return memories_[static_cast<std::size_t>(rank)]; }
  GpuMemory& own() { return memory_of(group_.rank()); }
  GpuMemory& peer() { return memory_of(peer_of(group_)); }

  // Takes the device and has the kernels compiled. What stops a rank is said once. An end of host
  // memory only holds a device, as its rank does where a library is measured: the copies are issued
  // by the end whose memory is the device's.
  int open() {
    const Failure failure = failure_in([&] {
      const std::string& device = options_.devices[group_.rank()];
      if (device != "-") taken_ = take_device(device);
      if (!on_device(kind_)) return;
      device_ = taken_.device;
      compile();
    });
    if (const int status = settle("nearpeak-native", failure, group_); status != kGood) {
      group_.barrier();  // who ends first has the others ended
      return status;
    }
    if (device_ != nullptr) {
      auto& uuid = own().control().uuid;
      std::snprintf(uuid.data(), uuid.size(), "%s", device_->info().uuid.c_str());
      if (Kernels* const kernels = device_->kernels())
        own().control().multiprocessors = kernels->multiprocessors();
    }
    const std::size_t cached = group_.largest(
        options_.mode.common.cache_bytes(device_ != nullptr ? device_->info().l2_bytes : 0));
    cache_bytes_ = std::min(cached, kLargestCache);
    register_stages();
    return kGood;
  }

  void compile() {
    why_no_kernels_ = why_no_kernels(*device_);
    if (!why_no_kernels_.empty()) return;
    try {
      motion_ = device_->kernels()->motion();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      why_no_kernels_ = text.substr(0, text.find('\n'));
    }
  }

  // After each sender has written to its own: the pages are on its NUMA node.
  void register_stages() {
    const bool staged = on_device(kind_) && on_device(peer_kind_);
    if (staged) std::memset(own().stage.data(), 0, Stages::kBytes);
    group_.barrier();
    if (!staged) return;
    stages_.why_none = failure_of([&] {
      Registration& registration = registration_of(*device_);
      stages_.own = registration.register_memory(own().stage.data(), Stages::kBytes);
      stages_.peer = registration.register_memory(peer().stage.data(), Stages::kBytes);
    });
  }

  // What the methods of a case share, as long as one of them lives.
  struct Shared {
    PeerSlots peer_out;
    PeerSlots peer_in;
    std::optional<GpuEnd> end;
  };

  std::vector<Method> methods(const Messages& messages, const Buffers& buffers) {
    std::string unreachable = group_.gather(offer(buffers))[messages.peer];
    const auto shared = std::make_shared<Shared>();
    if (device_ != nullptr && unreachable.empty())
      unreachable = failure_of([&] { reach(messages, shared->peer_out, shared->peer_in); });
    const GpuEnd& end = shared->end.emplace(GpuEnd{.messages = messages,
                                                   .kind = kind_,
                                                   .peer_kind = peer_kind_,
                                                   .own = own(),
                                                   .peer = peer(),
                                                   .wait = group_.wait(),
                                                   .device = device_,
                                                   .motion = motion_.get(),
                                                   .why_no_kernels = why_no_kernels_,
                                                   .out = buffers.out,
                                                   .in = buffers.in,
                                                   .stride = SlotBuffer::stride(messages.bytes),
                                                   .peer_out = shared->peer_out,
                                                   .peer_in = shared->peer_in,
                                                   .why_unreachable = unreachable,
                                                   .stages = stages_});
    std::vector<Method> out;
    for (const GpuMethod& method : methods_)
      if (method.applies(end))
        out.push_back({.name = method.name,
                       .buffers = buffers,
                       .unavailable = method.unavailable(end),
                       .make = [&method, shared, &end] { return method.make(end); },
                       .needs = method.needs});
    return out;
  }

  // Lets the other end open these slots. Returns why it cannot.
  std::string offer(const Buffers& slots) {
    if (kind_ != BufferKind::kDevice || !on_device(peer_kind_)) return "";
    return failure_of([&] {
      Ipc& ipc = ipc_of(*device_);
      own().control().out = ipc.export_memory(slots.out.slot(0));
      own().control().in = ipc.export_memory(slots.in.slot(0));
    });
  }

  void reach(const Messages& messages, PeerSlots& peer_out, PeerSlots& peer_in) {
    if (peer_kind_ == BufferKind::kManaged) return;
    if (peer_kind_ == BufferKind::kDevice) {
      const auto& handles = peer().control();
      if (messages.receives) peer_out = PeerSlots(*device_, handles.out);
      if (messages.sends) peer_in = PeerSlots(*device_, handles.in);
      return;
    }
    const std::size_t bytes = SlotBuffer::stride(messages.bytes) * messages.slots;
    if (messages.receives) peer_out = PeerSlots(*device_, peer().out, bytes);
    if (messages.sends) peer_in = PeerSlots(*device_, peer().in, bytes);
    if (messages.receives) peer_out.address(true);
    if (messages.sends) peer_in.address(true);
  }

  void run_facts(Runner& runner) {
    const auto& common = options_.mode.common;
    const GpuRank rank{
        .runner = runner,
        .group = group_,
        .options = options_.mode,
        .kind = kind_,
        .peer_kind = peer_kind_,
        .own = own(),
        .peer = peer(),
        .device = device_,
        .motion = motion_.get(),
        .why_no_kernels = why_no_kernels_,
        .name = [&](const Metric& metric, std::size_t bytes, const std::string& method) {
          return CaseName{.benchmark = metric.name,
                          .metric = metric,
                          .size_bytes = bytes,
                          .buffers = options_.buffers,
                          .axes = {{kReuse, common.reuse}, {kTouch, common.touch}},
                          .method = method};
        }};
    for (const GpuFact& fact : facts_)
      for (const std::size_t bytes :
           fact.sized ? common.ordered_sizes() : std::vector<std::size_t>{0})
        fact.measure(rank, fact.metric, bytes);
  }

  const GpuOptions& options_;
  const std::vector<const Benchmark*>& asked_;
  const std::vector<GpuFact>& facts_;
  const std::vector<GpuMethod>& methods_;
  std::vector<GpuMemory>& memories_;
  SharedGroup& group_;
  const BufferKind kind_;
  const BufferKind peer_kind_;
  TakenDevice taken_;
  Device* device_ = nullptr;  // whose memory the buffers are; null at an end of host memory
  std::unique_ptr<Program> motion_;
  std::string why_no_kernels_;
  Stages stages_;
  std::uint64_t cache_bytes_ = 0;
};

class GpuMode final : public Mode {
 public:
  GpuMode()
      : Mode("gpu",
             "processes of one host, each with a peer, with messages on GPUs: copy engines and "
             "kernels, between two GPUs, within one, and between host memory and a GPU") {
    options_.mode.common.touches = {"none"};  // the CPU does not write to a GPU's memory
  }

  std::vector<Metric> metrics() const override {
    auto all = transport_metrics();
    for (const GpuFact& fact : facts()) all.push_back(fact.metric);
    return all;
  }
  std::vector<Axis> axes() const override { return common_axes(options_.mode.common); }
  void add_options(CLI::App& app) override {
    options_.mode.common.with_device = true;
    std::string names;
    for (const GpuFact& fact : facts()) names += "," + fact.metric.name;
    options_.mode.add_plateau(app);
    options_.mode.add_to(app, "latency,bw,bibw (the usual ones), mbw_mr, multi_lat" + names,
                         "the CPUs, one for each process: 0,1");
    app.get_option("--cpus")->required();
    app.add_option_function<std::string>(
           "--devices", [this](const std::string& text) { options_.devices = split(text); },
           "the device that each end's process holds, by index or UUID; - for none, where its "
           "buffers are host memory: 0,1 or -,0")
        ->required();
    app.add_option("--buffers", options_.buffers,
                   "memory of the buffers: D device, M managed, H host, P pinned host; one letter "
                   "for all, or one for each half of the processes, like H,D")
        ->default_val("D,D");
  }
  int run() override { return run_gpu(options_, gpu_methods()); }

 private:
  GpuOptions options_;
};

const RegisterMode<GpuMode> gpu_mode;

}  // namespace

RegisterGpuFact::RegisterGpuFact(GpuFact fact) { facts().push_back(std::move(fact)); }

int run_gpu(const GpuOptions& given, std::vector<GpuMethod> methods) {
  GpuOptions options = given;
  const auto ranks = static_cast<int>(options.mode.cpus.size());
  const Kinds kinds(options.buffers);
  check_ends(options, kinds, ranks);
  const bool facts_alone = !options.mode.metrics.empty();
  const auto asked_facts = take_facts(options.mode);
  std::vector<const Benchmark*> asked;
  if (!facts_alone || !options.mode.metrics.empty())
    asked = transport_benchmarks(options.mode, ranks);
  choose(options.mode.methods, methods);
  check_cpus(options.mode.cpus);
  options.mode.check();
  std::vector<GpuMemory> memories;
  for (int rank = 0; rank < ranks; ++rank) {
    const bool host = !on_device(kinds.of(rank, ranks));
    memories.emplace_back(host ? most_slot_bytes(options.mode, asked, kLargestCache) : 0,
                          host ? 0 : Stages::kBytes);
  }
  return run_group(
      options.mode.cpus, options.mode.stall_s(methods.size()), [&](SharedGroup& group) {
        return GpuProcess(options, kinds, asked, asked_facts, methods, memories, group).run();
      });
}

}  // namespace nearpeak
