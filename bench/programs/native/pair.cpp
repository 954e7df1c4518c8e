// SPDX-License-Identifier: Apache-2.0
// The mode `pair`: processes of one host, every two of which move messages through memory.
#include "programs/native/pair.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "programs/native/process.hpp"

namespace nearpeak {
namespace {

// One of the processes, from its birth.
class PairProcess {
 public:
  PairProcess(const ModeOptions& options, const std::vector<const Benchmark*>& asked,
              const std::vector<HostMethod>& methods, std::vector<HostMemory>& memories,
              SharedGroup& group)
      : options_(options), asked_(asked), methods_(methods), memories_(memories), group_(group) {}

  int run() {
#ifdef PR_SET_PTRACER
    // Where Yama guards processes from each other the other one may still read this one's memory.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
#endif
    own().touch();
    Runner runner(group_, options_.common, options_.naming());
    runner.count();
    open_records(runner, "pair");
    RankSetup setup;
    setup.methods = [&](const CaseContext&, const Messages& messages, const Buffers& buffers) {
      return methods(messages, buffers);
    };
    for_each_case(runner, options_, setup, asked_,
                  [&](const Benchmark& benchmark, const CaseContext& context) {
                    runner.run(benchmark, context);
                  });
    return runner.status();
  }

 private:
  // What the methods of a case share, as long as one of them lives.
  struct Shared {
    Slots slots;
    std::vector<HostEnd> ends;
  };

  HostMemory& own() { return memories_[static_cast<std::size_t>(group_.rank())]; }

  std::vector<Method> methods(const Messages& messages, const Buffers& buffers) {
    std::vector<const HostMethod*> some;
    for (const HostMethod& method : methods_)
      if (method.applies(messages)) some.push_back(&method);
    const auto any = [&](bool HostMethod::* shared) {
      return std::any_of(some.begin(), some.end(), [&](const auto* m) { return m->*shared; });
    };
    // What nobody uses takes no memory.
    Messages mapped = messages;
    mapped.sends = messages.sends && any(&HostMethod::shared_out);
    mapped.receives = messages.receives && any(&HostMethod::shared_in);
    const std::shared_ptr<Shared> shared(new Shared{{mapped, own().out, own().in}, {}});

    own().control().process = getpid();
    own().control().out = buffers.out.slot(0);
    group_.barrier();
    shared->ends.reserve(some.size());
    std::vector<Method> out;
    for (const HostMethod* method : some) {
      const Buffers used{method->shared_out ? shared->slots.out : buffers.out,
                         method->shared_in ? shared->slots.in : buffers.in};
      const HostEnd& end = shared->ends.emplace_back(
          HostEnd{.messages = messages,
                  .own = own(),
                  .peer = memories_[static_cast<std::size_t>(messages.peer)],
                  .wait = group_.wait(),
                  .out = used.out,
                  .in = used.in,
                  .stride = SlotBuffer::stride(messages.bytes)});
      out.push_back({.name = method->name,
                     .buffers = used,
                     .unavailable = method->unavailable(end),
                     .make = [method, shared, &end] { return method->make(end); }});
    }
    return out;
  }

  const ModeOptions& options_;
  const std::vector<const Benchmark*>& asked_;
  const std::vector<HostMethod>& methods_;
  std::vector<HostMemory>& memories_;
  SharedGroup& group_;
};

class PairMode final : public Mode {
 public:
  PairMode()
      : Mode("pair",
             "processes of one host, each with a peer, through memory: flags in cache lines, a "
             "ring, copies by the kernel, the receiver, or both ends") {}

  std::vector<Metric> metrics() const override { return transport_metrics(); }
  void add_options(CLI::App& app) override {
    options_.add_plateau(app);
    options_.add_to(app, "latency,bw,bibw (the usual ones), mbw_mr, multi_lat",
                    "the CPUs, one for each process: 0,1");
    app.get_option("--cpus")->required();
  }
  int run() override { return run_pair(options_, host_methods()); }

 private:
  ModeOptions options_;
};

const RegisterMode<PairMode> pair_mode;

}  // namespace

int run_pair(const ModeOptions& options, std::vector<HostMethod> methods) {
  const auto ranks = static_cast<int>(options.cpus.size());
  if (ranks < 2 || ranks % 2 != 0)
    throw BadInput("--cpus of pair needs an even number of CPUs, one for each process: --cpus 0,1");
  const auto asked = transport_benchmarks(options, ranks);
  choose(options.methods, methods);
  check_cpus(options.cpus);
  options.check();
  std::vector<HostMemory> memories;
  for (int rank = 0; rank < ranks; ++rank) memories.emplace_back(most_slot_bytes(options, asked));
  return run_group(options.cpus, options.stall_s(methods.size()), [&](SharedGroup& group) {
    return PairProcess(options, asked, methods, memories, group).run();
  });
}

}  // namespace nearpeak
