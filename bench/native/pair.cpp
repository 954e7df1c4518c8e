// SPDX-License-Identifier: Apache-2.0
#include "native/pair.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>

namespace nearpeak {
namespace {

constexpr double kStall = 60;  // seconds without a finished exchange, beyond what one may take

std::vector<PairMethod>& registry() {
  static std::vector<PairMethod> all;
  return all;
}

// One of the two processes, from its birth.
class PairProcess {
 public:
  PairProcess(const PairOptions& options, const std::vector<PairMethod>& methods,
              PairMemory& memory, int rank)
      : options_(options),
        methods_(methods),
        memory_(memory),
        rank_(rank),
        wait_{options.cpus[0] == options.cpus[1]},
        team_(memory.control().desk, rank, wait_) {}

  int run() {
    bind_to_cpu(options_.cpus[rank_]);
#ifdef PR_SET_PTRACER
    // Where Yama guards processes from each other the other one may still read this one's memory.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
#endif
    touch(memory_.inbox[rank_]);
    Contest contest(team_, "pair", options_.common, options_.probe);
    contest.open();
    for (const Metric& metric : options_.metrics)
      for (const std::size_t bytes : options_.common.ordered_sizes())
        if (bytes > 0 || metric.name == "latency")  // nothing has no bandwidth
          run_exchange(contest, make_exchange(metric, bytes, options_.common, rank_));
    return contest.status();
  }

 private:
  // The receiver's node has the memory that it polls.
  static void touch(SharedMemory& memory) {
    for (std::size_t i = 0; i < memory.bytes(); i += 4096) memory.data()[i] = 0;
  }

  void run_exchange(Contest& contest, const Exchange& exchange) {
    const std::size_t bytes = exchange.bytes;
    SlotBuffer out(host_memory(), exchange.sends() ? bytes : 0, exchange.slots());
    SlotBuffer in(host_memory(), exchange.receives() ? bytes : 0, exchange.slots());
    SlotBuffer shared_out(memory_.out[rank_], bytes, exchange.slots());
    out.fill_pattern(exchange.seed(rank_));
    in.fill_inverse(exchange.seed(exchange.peer()));
    if (exchange.sends()) shared_out.fill_pattern(exchange.seed(rank_));

    auto& ends = memory_.control().ends;
    ends[rank_] = {getpid(), out.slot(0)};
    team_.agree(0);
    const PairEnd end{exchange, memory_, wait_, out, in, SlotBuffer::stride(bytes)};
    std::vector<Candidate> candidates;
    for (const PairMethod& method : methods_) {
      if (bytes < method.smallest || bytes > method.largest) continue;
      const std::string why = reason(method, end);
      if (why.empty())
        candidates.push_back({method.name, [&method, &end] { return method.make(end); }});
      else
        contest.skip(exchange, method.name, why);
    }
    contest.run(exchange, in, candidates);
    if (rank_ == 0) memory_.control().progress.value.fetch_add(1);
  }

  // Why one of the two ends cannot use the method, known to both; empty when both can.
  std::string reason(const PairMethod& method, const PairEnd& end) {
    const std::string mine = method.unavailable(end).value_or("");
    const std::string other = team_.tell_leader(mine);
    const std::string both = mine.empty() ? other : mine;
    const bool bad = team_.agree(both.empty() ? 0 : 1) != 0;
    return bad && both.empty() ? "the other end cannot" : both;
  }

  const PairOptions& options_;
  const std::vector<PairMethod>& methods_;
  PairMemory& memory_;
  int rank_;
  Wait wait_;
  SharedTeam team_;
};

class PairMode final : public Mode {
 public:
  PairMode()
      : Mode({"pair",
              "two processes of one node, through memory: flags in cache lines, a ring of chunks, "
              "process_vm_readv, memory that both have mapped",
              pair_metrics(),
              {{"reuse", {"fixed", "rotating"}}}}) {}

  void add_options(CLI::App& app) override {
    options_.common.add_to(app);
    app.add_option("--cpus", cpus_, "the two CPUs, one for each process: 0,1")->required();
    app.add_option("--metrics", metrics_, "only these: latency,bw,bibw");
    app.add_option("--methods", methods_, "only these: see the records");
    app.add_flag("!--no-probe", options_.probe, "leave out the drift probe");
  }

  int run() override {
    options_.cpus = parse_cpus(cpus_);
    options_.metrics = chosen(metrics_, pair_metrics(), "metric");
    const auto methods = chosen(methods_, pair_methods(), "method");
    return run_pair(options_, methods);
  }

 private:
  PairOptions options_;
  std::string cpus_;
  std::string metrics_;
  std::string methods_;
};

PairMode mode;
const RegisterMode entry(mode);

}  // namespace

PairMemory::PairMemory(std::size_t inbox_bytes, std::size_t out_bytes)
    : control_memory(sizeof(Control)),
      inbox{SharedMemory(inbox_bytes), SharedMemory(inbox_bytes)},
      out{SharedMemory(out_bytes), SharedMemory(out_bytes)},
      control_(new (control_memory.data()) Control) {}

RegisterPairMethod::RegisterPairMethod(PairMethod method) {
  registry().push_back(std::move(method));
}

std::vector<PairMethod> pair_methods() {
  auto all = registry();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

int run_pair(const PairOptions& options, const std::vector<PairMethod>& methods) {
  if (options.cpus.size() != 2)
    throw BadInput("--cpus of pair needs two CPUs, one for each process: --cpus 0,1");
  const auto sizes = options.common.ordered_sizes();
  check_cpus(options.cpus);
  check_writable(options.common.jsonl);
  std::size_t inbox = 0;
  for (const Metric& metric : options.metrics)
    for (const std::size_t bytes : sizes)
      for (const PairMethod& method : methods)
        if (bytes >= method.smallest && bytes <= method.largest)
          inbox =
              std::max(inbox, method.inbox_bytes(make_exchange(metric, bytes, options.common, 0)));
  PairMemory memory(inbox, most_slot_bytes(options.metrics, sizes, options.common));
  const double stall_s = kStall + 2 * options.common.limit_s * static_cast<double>(methods.size());
  return run_processes(2, memory.control().progress.value, stall_s,
                       [&](int rank) { return PairProcess(options, methods, memory, rank).run(); });
}

}  // namespace nearpeak
