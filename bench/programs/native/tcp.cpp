// SPDX-License-Identifier: Apache-2.0
// The mode `tcp`: two processes that move messages through TCP sockets.
#include "programs/native/tcp.hpp"

#include <CLI/CLI.hpp>

#include "group/socket.hpp"
#include "options/launched.hpp"
#include "programs/native/process.hpp"

namespace nearpeak {
namespace {

int run_end(const TcpOptions& options, const std::vector<TcpMethod>& methods, Group& group,
            const std::vector<const Benchmark*>& asked, const std::vector<Socket>& streams,
            Wait wait) {
  const auto buffers = tcp_buffers(methods);
  const auto files_for = [&](const TcpMethod& method) {
    std::vector<int> files;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i] == method.buffer && files.size() < static_cast<std::size_t>(method.streams))
        files.push_back(streams[i].file());
    return files;
  };
  Runner runner(group, options.common, options.naming());
  runner.count();
  open_records(runner, "tcp");
  RankSetup setup;
  setup.methods = [&](const CaseContext&, const Messages& messages, const Buffers& both) {
    std::vector<Method> some;
    for (const TcpMethod& method : methods)
      if (method.applies(messages))
        some.push_back({.name = method.name,
                        .buffers = both,
                        .unavailable = "",
                        .make =
                            [&, both] {
                              return tcp_transport(messages, method, files_for(method), both, wait,
                                                   options.stall_s(methods.size()));
                            },
                        .needs = method.together ? std::vector<std::string>{"window"}
                                                 : std::vector<std::string>{}});
    return some;
  };
  for_each_case(runner, options, setup, asked,
                [&](const Benchmark& benchmark, const CaseContext& context) {
                  runner.run(benchmark, context);
                });
  return runner.status();
}

class TcpMode final : public Mode {
 public:
  TcpMode()
      : Mode("tcp",
             "two processes through TCP sockets: one or several connections, sleeping or busy") {}

  std::vector<Metric> metrics() const override { return transport_metrics(); }
  void add_options(CLI::App& app) override {
    options_.add_plateau(app);
    options_.add_to(app, "latency,bw,bibw (the usual ones), mbw_mr, multi_lat",
                    "start both processes here, on these two CPUs: 0,1");
    app.add_option("--address", options_.address, "where they meet: an address of this host")
        ->capture_default_str();
    app.add_option("--peer", options_.peer,
                   "a launcher has started this process, as one of two ranks: the host of rank 0");
    app.add_option("--port", options_.port, "where rank 0 listens, with --peer")
        ->check(CLI::Range(1, 65535));
  }
  int run() override { return run_tcp(options_, tcp_methods()); }

 private:
  TcpOptions options_;
};

const RegisterMode<TcpMode> tcp_mode;

}  // namespace

int run_tcp(const TcpOptions& options, std::vector<TcpMethod> methods) {
  choose(options.methods, methods);
  const auto asked = transport_benchmarks(options, 2);
  if (options.cpus.empty() == options.peer.empty())
    throw BadInput(
        "tcp needs --cpus A,B to start both processes here, or --peer HOST --port N under a "
        "launcher of two ranks");
  const auto buffers = tcp_buffers(methods);
  const double patience_s = options.stall_s(methods.size());

  if (!options.peer.empty()) {
    const int rank = launched_rank_of_two("tcp");
    if (options.port == 0) throw BadInput("tcp --peer needs --port N, the same on both ranks");
    if (rank != kLeaderRank) {
      SocketGroup group(options.peer, options.port, rank, 2, patience_s);
      const auto streams = connect_streams(options.peer, options.port, buffers, patience_s);
      return run_end(options, methods, group, asked, streams, Wait::kPause);
    }
    const Socket listener = listen_as(options.peer, options.port);
    options.check();
    SocketGroup group(listener, 2, patience_s);
    const auto streams = accept_streams(listener, buffers, patience_s);
    return run_end(options, methods, group, asked, streams, Wait::kPause);
  }

  if (options.cpus.size() != 2)
    throw BadInput("--cpus of tcp needs two CPUs, one for each process: --cpus 0,1");
  check_cpus(options.cpus);
  const Socket listener = listen_on(options.address, 0);
  options.check();
  return run_group(options.cpus, patience_s, [&](SharedGroup& group) {
    const auto streams =
        group.leads() ? accept_streams(listener, buffers, patience_s)
                      : connect_streams(options.address, port_of(listener), buffers, patience_s);
    return run_end(options, methods, group, asked, streams, group.wait());
  });
}

}  // namespace nearpeak
