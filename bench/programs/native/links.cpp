// SPDX-License-Identifier: Apache-2.0
// The mode `links`: what all links of the GPUs of a host carry at once, by copy engines; each GPU
// has a process of its own.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "benchmark/check_memory.hpp"
#include "benchmark/selected.hpp"
#include "programs/native/mode.hpp"
#include "programs/native/process.hpp"

namespace nearpeak {
namespace {

// Which copies are made at once.
struct LinkTraffic {
  std::string name;
  std::string summary;
  bool peers = false;  // from every GPU to every other
  bool down = false;   // from host memory to every GPU
  bool up = false;     // from every GPU to host memory
};

const std::vector<LinkTraffic>& traffics() {
  static const std::vector<LinkTraffic> all{
      {.name = "links_peers", .summary = "every GPU to every other", .peers = true},
      {.name = "links_down", .summary = "the host to every GPU", .down = true},
      {.name = "links_up", .summary = "every GPU to the host", .up = true},
      {.name = "links_host",
       .summary = "the host and every GPU, both ways",
       .down = true,
       .up = true},
      {.name = "links_all",
       .summary = "every GPU to every other, and the host and every GPU both ways",
       .peers = true,
       .down = true,
       .up = true}};
  return all;
}

class Links final : public Case {
 public:
  Links(const CaseContext& context, const LinkTraffic& traffic)
      : context_(context),
        repeats_(std::clamp<std::uint64_t>(kInFlight / context.bytes, 1, context.window)) {
    const Group& group = context.group;
    const std::size_t stride = SlotBuffer::stride(context.bytes);
    const std::uint64_t from_peers =
        traffic.peers ? static_cast<std::uint64_t>(group.size()) - 1 : 0;
    check_memory(context, {.all = (1 + from_peers + (traffic.down ? 1 : 0)) * stride,
                           .scratch = ((traffic.down ? 1 : 0) + (traffic.up ? 1 : 0)) * stride});
    std::vector<IpcHandle> handles;
    on_every_rank(context.group, [&] { make_buffers(traffic, handles); });
    if (traffic.peers) {
      handles = exchange(handles);
      try {
        on_every_rank(context.group, [&] { open_peers(handles); });
      } catch (const Unfit&) {
        close_peers();
        throw;
      }
    }
    const auto links = static_cast<std::uint64_t>(group.size());
    copies_ = (traffic.peers ? links * (links - 1) : 0) + (traffic.down ? links : 0) +
              (traffic.up ? links : 0);
  }

  ~Links() override { close_peers(); }

  void run(std::uint64_t n) override {
    for (std::uint64_t i = 0; i < n; ++i) {
      for (std::uint64_t m = 0; m < repeats_; ++m)
        for (const Copy& copy : copies_here_)
          context_.device->copy_async(copy.to, copy.from, context_.bytes, *copy.stream);
      for (const Copy& copy : copies_here_) copy.stream->synchronize();
    }
  }
  std::size_t round_bytes() const override { return context_.bytes * arrivals_.size(); }
  std::uint64_t operations() const override { return repeats_; }
  std::vector<double> values(const Times& times) const override {
    return {static_cast<double>(context_.bytes * copies_) / times.us / 1e3};
  }

  void begin_round(std::uint64_t round, Part part) override {
    for (SlotBuffer* out : {out_.get(), host_out_.get()})
      if (out != nullptr)
        out->fill({payload_seed(context_.group.rank(), context_.bytes), round}, Part::kStamps);
    if (part != Part::kAll) return;
    for (const Arrival& arrival : arrivals_)
      arrival.in->poison(payload_seed(arrival.sender, context_.bytes));
  }
  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override {
    for (const Arrival& arrival : arrivals_)
      if (auto bad = arrival.in->find_mismatch(
              {payload_seed(arrival.sender, context_.bytes), round}, part))
        return bad;
    return std::nullopt;
  }

 private:
  // Bytes that a link has to move between two barriers: launching is not to be seen.
  static constexpr std::uint64_t kInFlight = std::uint64_t{1} << 30;

  struct Copy {
    const char* from;
    char* to;
    std::unique_ptr<Stream> stream;
  };
  struct Arrival {
    std::unique_ptr<SlotBuffer> in;
    int sender;
  };

  void add(const SlotBuffer& from, char* to) {
    copies_here_.push_back({from.slot(0), to, context_.device->new_stream()});
  }

  void close_peers() {
    opened_.clear();
    context_.group.barrier();  // nobody's memory goes while another still has it open
  }

  // `handles`: of this GPU's memory for what comes from each rank.
  void make_buffers(const LinkTraffic& traffic, std::vector<IpcHandle>& handles) {
    Memory& pinned = context_.device->memory(BufferKind::kPinned);
    const int rank = context_.group.rank();
    const Payload payload{payload_seed(rank, context_.bytes)};
    const auto buffer = [&](Memory& memory) {
      return std::make_unique<SlotBuffer>(memory, context_.bytes, 1);
    };
    handles.resize(static_cast<std::size_t>(context_.group.size()));
    out_ = buffer(context_.memory);
    out_->fill(payload);
    for (int sender = 0; traffic.peers && sender < context_.group.size(); ++sender) {
      if (sender == rank) continue;
      arrivals_.push_back({buffer(context_.memory), sender});
      handles[static_cast<std::size_t>(sender)] =
          ipc_of(*context_.device).export_memory(arrivals_.back().in->slot(0));
    }
    if (traffic.down) {
      host_out_ = buffer(pinned);
      host_out_->fill(payload);
      arrivals_.push_back({buffer(context_.memory), rank});
      add(*host_out_, arrivals_.back().in->slot(0));
    }
    if (traffic.up) {
      arrivals_.push_back({buffer(pinned), rank});
      add(*out_, arrivals_.back().in->slot(0));
    }
  }

  // From those of what comes to this rank to those of where what it sends goes.
  std::vector<IpcHandle> exchange(const std::vector<IpcHandle>& mine) const {
    Group& group = context_.group;
    std::vector<IpcHandle> theirs;
    for (int sender = 0; sender < group.size(); ++sender) {
      auto of_sender = group.gather(mine[static_cast<std::size_t>(sender)]);
      if (sender == group.rank()) theirs = std::move(of_sender);
    }
    return theirs;
  }

  void open_peers(const std::vector<IpcHandle>& handles) {
    for (const int receiver : context_.group.others()) {
      opened_.push_back(ipc_of(*context_.device).open(handles[static_cast<std::size_t>(receiver)]));
      add(*out_, static_cast<char*>(opened_.back()->data()));
    }
  }

  const CaseContext context_;
  std::unique_ptr<SlotBuffer> out_;
  std::unique_ptr<SlotBuffer> host_out_;
  std::vector<Arrival> arrivals_;
  std::vector<std::unique_ptr<OpenedMemory>> opened_;
  std::vector<Copy> copies_here_;
  const std::uint64_t repeats_;  // of each copy, one behind the other, in an iteration
  std::uint64_t copies_;         // of all ranks, each so often
};

Benchmark benchmark_of(const LinkTraffic& traffic) {
  return {.info = {.name = traffic.name,
                   .summary = traffic.summary,
                   .metrics = {{traffic.name, "GB/s", "higher"}},
                   .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 1},
                   .smallest = 1,
                   .sync = Sync::kBarrier,
                   .reduce = Reduce::kMaximum},
          .make = [&traffic](const CaseContext& context) {
            return std::make_unique<Links>(context, traffic);
          }};
}

class LinksMode final : public Mode {
 public:
  LinksMode()
      : Mode("links",
             "all GPUs of a host at once, a process each: to every other, and to and from the "
             "host") {
    options_.common.sizes = "64M";
    options_.common.reuses = {"fixed"};
    options_.common.touches = {"none"};
  }

  std::vector<Axis> axes() const override { return common_axes(options_.common); }

  std::vector<Metric> metrics() const override {
    std::vector<Metric> all;
    for (const LinkTraffic& traffic : traffics()) all.push_back({traffic.name, "GB/s", "higher"});
    return all;
  }
  void add_options(CLI::App& app) override {
    options_.common.with_device = true;
    std::string names;
    for (const LinkTraffic& traffic : traffics())
      names += (names.empty() ? "" : ",") + traffic.name;
    options_.add_to(app, names, "the CPUs, one for each GPU: 0,1");
    app.get_option("--cpus")->required();
    app.add_option_function<std::string>(
           "--devices", [this](const std::string& text) { devices_ = split(text); },
           "the GPUs, by index or UUID: 0,1")
        ->required();
  }

  int run() override {
    if (devices_.size() != options_.cpus.size())
      throw BadInput("links needs as many --devices as --cpus: --cpus 0,1 --devices 0,1");
    std::vector<std::string> known;
    for (const LinkTraffic& traffic : traffics()) known.push_back(traffic.name);
    check_names(options_.metrics, known, "metric");
    if (options_.as_library) throw BadInput("links has no best transport to record as a library");
    check_cpus(options_.cpus);
    options_.check();
    for (const LinkTraffic& traffic : traffics())
      if (const BenchmarkInfo info = benchmark_of(traffic).info;
          wanted(options_.metrics, traffic.name) && options_.sizes_of(info).empty())
        throw BadInput(needed_sizes(info));
    return run_group(options_.cpus, options_.stall_s(traffics().size()),
                     [this](SharedGroup& group) { return run_rank(group); });
  }

 private:
  int run_rank(SharedGroup& group) const {
    const TakenDevice taken = take_device(devices_[static_cast<std::size_t>(group.rank())]);
    Runner runner(group, options_.common, options_.naming("D"));
    open_records(runner, "links", rank_device(taken.device->info()));
    const RankSetup setup{.kind = BufferKind::kDevice,
                          .memory = taken.device->memory(BufferKind::kDevice),
                          .device = taken.device};
    for (const LinkTraffic& traffic : traffics()) {
      if (!wanted(options_.metrics, traffic.name)) continue;
      if (traffic.peers && group.size() == 1) continue;
      const Benchmark benchmark = benchmark_of(traffic);
      for (const std::size_t bytes : options_.sizes_of(benchmark.info))
        runner.run(benchmark, context_of(group, options_, setup, benchmark, bytes));
    }
    group.barrier();
    return runner.status();
  }

  ModeOptions options_;
  std::vector<std::string> devices_;
};

const RegisterMode<LinksMode> links_mode;

}  // namespace
}  // namespace nearpeak
