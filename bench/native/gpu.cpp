// SPDX-License-Identifier: Apache-2.0
#include "native/gpu.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

namespace nearpeak {
namespace {

constexpr double kStall = 120;  // seconds without a finished exchange, beyond what one may take
constexpr std::uint64_t kLargestCache = std::uint64_t{1}
                                        << 30;  // of any device: more is not rotated

BufferKinds parse_kinds(const std::string& text) {
  const auto parts = split(text);
  if (parts.size() != 2 || parts[0].size() != 1 || parts[1].size() != 1)
    throw BadInput("'" + text + "' are no two kinds of buffers: give one for each end, as D,D");
  const BufferKinds kinds{buffer_kind(parts[0][0]), buffer_kind(parts[1][0])};
  if (!on_device(kinds[0]) && !on_device(kinds[1]))
    throw BadInput("buffers " + text + " are both in host memory: that is mode pair's");
  if (kinds[0] == BufferKind::kManaged && kinds[1] == BufferKind::kManaged)
    throw BadInput(
        "no process can open the managed memory of another: buffers M,M have no ceiling");
  return kinds;
}

void check_devices(const GpuOptions& options, const BufferKinds& kinds) {
  if (options.devices.size() != 2)
    throw BadInput("--devices of gpu needs two devices, one for each end: --devices 0,1 or -,0");
  for (int rank = 0; rank < 2; ++rank) {
    const std::string end = "end " + std::to_string(rank) + " of --buffers " + options.buffers;
    if (on_device(kinds[rank]) && options.devices[rank] == "-")
      throw BadInput(end + " is on a device: give its index or UUID in --devices, not -");
    if (!on_device(kinds[rank]) && options.devices[rank] != "-")
      throw BadInput(end + " is host memory: give - in --devices, not " + options.devices[rank]);
  }
}

// The device of one process.
struct Taken {
  std::unique_ptr<Accelerator> accelerator;
  Device* device = nullptr;
};

// The device that a text names. Throws BadInput, BackendUnavailable, AcceleratorError.
Taken take_device(const std::string& text) {
  const std::size_t colon = text.find(':');
  const Backend& backend =
      find_backend(colon == std::string::npos ? "cuda" : text.substr(0, colon));
  try {
    Taken taken{backend.load()};
    taken.device = &taken.accelerator->device(
        taken.accelerator->find_device(colon == std::string::npos ? text : text.substr(colon + 1)));
    return taken;
  } catch (const BackendUnavailable& error) {
    throw BackendUnavailable("no device can be used: " + backend.name + ": " + error.what());
  }
}

// One of the two processes, from its birth.
class GpuProcess {
 public:
  GpuProcess(const GpuOptions& options, const std::vector<GpuMethod>& methods,
             const BufferKinds& kinds, GpuMemory& memory, int rank)
      : options_(options),
        methods_(methods),
        kinds_(kinds),
        memory_(memory),
        rank_(rank),
        wait_{options.cpus[0] == options.cpus[1]},
        team_(memory.control().desk, rank, wait_) {}

  int run() {
    bind_to_cpu(options_.cpus[rank_]);
    if (const int status = open(); status != kGood) return status;
    Contest contest(team_, "gpu", options_.common, options_.probe, options_.buffers);
    std::optional<RankDevice> place;
    if (device_ != nullptr) {
      const DeviceInfo& info = device_->info();
      place = RankDevice{info.uuid, info.name, info.pci};
    }
    contest.open(place);
    const GpuSide side{
        contest,         team_,
        options_.common, kinds_,
        memory_,         wait_,
        device_,         motion_.get(),
        why_no_kernels_, [this](const std::string& mine) { return told_reason(mine); }};
    for (const Metric& metric : options_.metrics)
      if (metric.name == "flag_latency")
        run_flag_latency(side, metric);
      else
        for (const std::size_t bytes : options_.common.ordered_sizes())
          run_size(side, metric, bytes);
    return contest.status();
  }

 private:
  // Takes the device and has the kernels compiled. What stops one end is told once.
  int open() {
    std::string why;
    int status = kGood;
    try {
      if (on_device(kinds_[rank_])) {
        taken_ = take_device(options_.devices[rank_]);
        device_ = taken_.device;
        compile();
      }
    } catch (const BadInput& error) {
      why = error.what();
      status = kBadInput;
    } catch (const std::exception& error) {
      why = error.what();
      status = kFailed;
    }
    const std::uint64_t l2 = device_ == nullptr ? 0 : device_->info().l2_bytes;
    memory_.control().cache_bytes[rank_] = std::max(largest_cache(), l2);
    if (device_ != nullptr) {
      auto& uuid = memory_.control().uuids[rank_];
      std::snprintf(uuid.data(), uuid.size(), "%s", device_->info().uuid.c_str());
    }
    const std::string told = team_.tell_leader(why.empty() ? "" : std::to_string(status) + why);
    if (status == kGood && !told.empty()) {
      status = told[0] - '0';
      why = told.substr(1);
    }
    if (const auto agreed = static_cast<int>(team_.agree(static_cast<std::uint64_t>(status)));
        agreed != kGood) {
      if (team_.leads()) std::fprintf(stderr, "nearpeak-native: %s\n", why.c_str());
      team_.agree(0);  // who ends first has the other ended
      return agreed;
    }
    register_stages();
    const auto& caches = memory_.control().cache_bytes;
    cache_bytes_ = std::min(std::max(caches[0], caches[1]), kLargestCache);
    return kGood;
  }

  void compile() {
    why_no_kernels_ = device_->why_no_kernels();
    if (!why_no_kernels_.empty()) return;
    try {
      motion_ = device_->motion_kernels();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      why_no_kernels_ = text.substr(0, text.find('\n'));
    }
  }

  // After each sender has written to its own: the pages are on its NUMA node.
  void register_stages() {
    if (!on_device(kinds_[0]) || !on_device(kinds_[1])) return;
    std::memset(memory_.stage[rank_].data(), 0, Stages::kBytes);
    team_.agree(0);
    try {
      for (int sender = 0; sender < 2; ++sender)
        stages_.of[sender] = device_->register_host(memory_.stage[sender].data(), Stages::kBytes);
    } catch (const AcceleratorError& error) {
      stages_.why_none = error.what();
    }
  }

  void run_size(const GpuSide& side, const Metric& metric, std::size_t bytes) {
    if (metric.name == "ipc_open")
      run_ipc_open(side, metric, bytes);
    else if (metric.name == "device_latency")
      run_device_latency(side, metric, bytes);
    else if (bytes > 0 || metric.name == "latency")  // nothing has no bandwidth
      run_exchange(side.contest,
                   make_exchange(metric, bytes, options_.common, rank_, cache_bytes_));
    if (rank_ == 0) memory_.control().progress.value.fetch_add(1);
  }

  Memory& slots_of(std::array<SharedMemory, 2>& shared) {
    return on_device(kinds_[rank_]) ? device_->memory(kinds_[rank_]) : shared[rank_];
  }

  void run_exchange(Contest& contest, const Exchange& exchange) {
    const std::size_t bytes = exchange.bytes;
    std::optional<SlotBuffer> out;
    std::optional<SlotBuffer> in;
    std::string why;
    try {
      out.emplace(slots_of(memory_.out), exchange.sends() ? bytes : 0, exchange.slots());
      in.emplace(slots_of(memory_.in), exchange.receives() ? bytes : 0, exchange.slots());
      out->fill_pattern(exchange.seed(rank_));
      in->fill_inverse(exchange.seed(exchange.peer()));
    } catch (const std::bad_alloc& error) {
      why = error.what();
    }
    why = told_reason(why);
    if (why.empty()) {
      compete(contest, exchange, *out, *in);
    } else {
      for (const GpuMethod& method : methods_)
        if (method.applies(exchange, kinds_)) contest.skip(exchange, method.name, why);
    }
  }

  void compete(Contest& contest, const Exchange& exchange, SlotBuffer& out, SlotBuffer& in) {
    std::string unreachable = swap_reasons(offer(out, in));
    PeerSlots peer_out;
    PeerSlots peer_in;
    if (device_ != nullptr && unreachable.empty()) {
      try {
        reach(exchange, peer_out, peer_in);
      } catch (const std::bad_alloc& error) {
        unreachable = error.what();
      } catch (const AcceleratorError& error) {
        unreachable = error.what();
      }
    }
    const GpuEnd end{exchange,      kinds_,          memory_, wait_, device_,
                     motion_.get(), why_no_kernels_, out,     in,    peer_out,
                     peer_in,       unreachable,     stages_};
    std::vector<Candidate> candidates;
    for (const GpuMethod& method : methods_) {
      if (!method.applies(exchange, kinds_)) continue;
      const std::string why = told_reason(method.unavailable(end));
      if (why.empty())
        candidates.push_back({method.name, [&method, &end] { return method.make(end); }});
      else
        contest.skip(exchange, method.name, why);
    }
    contest.run(exchange, in, candidates);
    peer_out = PeerSlots();
    peer_in = PeerSlots();
    team_.agree(0);  // nobody has this end's memory any more
  }

  // Lets the other end open these slots. Returns why it cannot.
  std::string offer(SlotBuffer& out, SlotBuffer& in) {
    if (kinds_[rank_] != BufferKind::kDevice || !on_device(kinds_[1 - rank_])) return "";
    try {
      memory_.control().handles[rank_] = {device_->ipc_export(out.slot(0)),
                                          device_->ipc_export(in.slot(0))};
    } catch (const AcceleratorError& error) {
      return error.what();
    }
    return "";
  }

  void reach(const Exchange& exchange, PeerSlots& peer_out, PeerSlots& peer_in) {
    const int peer = exchange.peer();
    if (kinds_[peer] == BufferKind::kManaged) return;
    if (kinds_[peer] == BufferKind::kDevice) {
      const auto& handles = memory_.control().handles[peer];
      if (exchange.receives()) peer_out = PeerSlots(device_->ipc_open(handles.out));
      if (exchange.sends()) peer_in = PeerSlots(device_->ipc_open(handles.in));
      return;
    }
    const std::size_t bytes = SlotBuffer::stride(exchange.bytes) * exchange.slots();
    if (exchange.receives()) peer_out = PeerSlots(*device_, memory_.out[peer].data(), bytes);
    if (exchange.sends()) peer_in = PeerSlots(*device_, memory_.in[peer].data(), bytes);
    if (exchange.receives()) peer_out.address(true);
    if (exchange.sends()) peer_in.address(true);
  }

  // The other end's reason.
  std::string swap_reasons(const std::string& mine) {
    auto& texts = memory_.control().reasons;
    const std::size_t length = std::min(mine.size(), texts[rank_].size() - 1);
    std::copy_n(mine.data(), length, texts[rank_].data());
    texts[rank_][length] = '\0';
    team_.agree(0);
    std::string other = texts[1 - rank_].data();
    team_.agree(0);
    return other;
  }

  // Why one of the two ends cannot, known to both; empty when both can.
  std::string told_reason(const std::string& mine) {
    const std::string other = swap_reasons(mine);
    return mine.empty() ? other : mine;
  }

  const GpuOptions& options_;
  const std::vector<GpuMethod>& methods_;
  const BufferKinds& kinds_;
  GpuMemory& memory_;
  int rank_;
  Wait wait_;
  SharedTeam team_;
  Taken taken_;
  Device* device_ = nullptr;
  std::unique_ptr<Program> motion_;
  std::string why_no_kernels_;
  Stages stages_;
  std::uint64_t cache_bytes_ = 0;
};

class GpuMode final : public Mode {
 public:
  GpuMode()
      : Mode({"gpu",
              "two processes of one node with messages on GPUs: copy engines and kernels, between "
              "two GPUs, within one, and between host memory and a GPU",
              gpu_metrics(),
              {{"reuse", {"fixed", "rotating"}}}}) {}

  void add_options(CLI::App& app) override {
    options_.common.with_device = true;
    options_.common.add_to(app);
    app.add_option("--cpus", cpus_, "the two CPUs, one for each process: 0,1")->required();
    app.add_option("--devices", devices_,
                   "the device of each end, by index or UUID, - for host memory: 0,1 or -,0")
        ->required();
    app.add_option("--buffers", options_.buffers,
                   "each end's kind of buffer: D device, M managed, H host, P pinned host")
        ->default_val("D,D");
    app.add_option("--metrics", metrics_,
                   "only these: latency,bw,bibw,ipc_open,flag_latency,device_latency");
    app.add_option("--methods", methods_, "only these: see docs/ceilings.md");
    app.add_flag("!--no-probe", options_.probe, "leave out the drift probe");
  }

  int run() override {
    options_.cpus = parse_cpus(cpus_);
    options_.devices = split(devices_);
    options_.metrics = chosen(metrics_, gpu_metrics(), "metric");
    const auto methods = chosen(methods_, gpu_methods(), "method");
    return run_gpu(options_, methods);
  }

 private:
  GpuOptions options_;
  std::string cpus_;
  std::string devices_;
  std::string metrics_;
  std::string methods_;
};

GpuMode mode;
const RegisterMode entry(mode);

}  // namespace

std::vector<GpuMethod> gpu_methods() {
  auto all = gpu_copy_methods();
  for (GpuMethod& method : gpu_staged_methods()) all.push_back(std::move(method));
  return all;
}

GpuMemory::GpuMemory(std::size_t slot_bytes, std::size_t stage_bytes)
    : control_memory(sizeof(Control)),
      out{SharedMemory(slot_bytes), SharedMemory(slot_bytes)},
      in{SharedMemory(slot_bytes), SharedMemory(slot_bytes)},
      stage{SharedMemory(stage_bytes), SharedMemory(stage_bytes)},
      control_(new (control_memory.data()) Control) {}

char* PeerSlots::address(bool registered) {
  if (opened_) return static_cast<char*>(opened_->data());
  if (!registered) {
    registered_.reset();
    return memory_;
  }
  if (!registered_) registered_ = device_->register_host(memory_, bytes_);
  return static_cast<char*>(registered_->on_device());
}

const std::vector<Metric>& gpu_metrics() {
  static const std::vector<Metric> metrics = [] {
    std::vector<Metric> all = pair_metrics();
    for (const char* name : {"ipc_open", "flag_latency", "device_latency"})
      all.push_back({name, "us", "lower"});
    return all;
  }();
  return metrics;
}

int run_gpu(const GpuOptions& options, const std::vector<GpuMethod>& methods) {
  if (options.cpus.size() != 2)
    throw BadInput("--cpus of gpu needs two CPUs, one for each process: --cpus 0,1");
  const BufferKinds kinds = parse_kinds(options.buffers);
  check_devices(options, kinds);
  const auto sizes = options.common.ordered_sizes();
  check_cpus(options.cpus);
  check_writable(options.common.jsonl);
  const bool host = !on_device(kinds[0]) || !on_device(kinds[1]);
  GpuMemory memory(
      host ? most_slot_bytes(options.metrics, sizes, options.common, kLargestCache) : 0,
      host ? 0 : Stages::kBytes);
  const double stall_s = kStall + 2 * options.common.limit_s * static_cast<double>(methods.size());
  return run_processes(2, memory.control().progress.value, stall_s, [&](int rank) {
    return GpuProcess(options, methods, kinds, memory, rank).run();
  });
}

}  // namespace nearpeak
