// SPDX-License-Identifier: Apache-2.0
// nearpeak-mpi: one benchmark of one MPI library, under any MPI launcher.
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "mpi/benchmark.hpp"

namespace {

using namespace nearpeak;

void check_benchmark(const std::string& name) {
  std::string known;
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.info.name == name) return;
    known += (known.empty() ? "" : ", ") + benchmark.info.name;
  }
  throw BadInput("unknown benchmark '" + name + "': give one of " + known);
}

// Returns what is to be run; exits the program for --help and --describe. Throws BadInput.
Request parse(int argc, char** argv) {
  Request request;
  if (argc > 1 && argv[1][0] != '-') check_benchmark(argv[1]);
  CLI::App app(
      "Measures one MPI library. Examples:\n"
      "  mpirun -n 2 nearpeak-mpi latency\n"
      "  mpirun -n 2 nearpeak-mpi bw --sizes 1M:64M --reuse rotating --jsonl bw.jsonl",
      "nearpeak-mpi");
  app.add_flag_callback(
      "--describe",
      [] {
        std::cout << describe() << "\n";
        std::exit(kGood);
      },
      "print the benchmarks, their axes, metrics and units as JSON");
  app.require_subcommand(1);
  std::map<const Benchmark*, Axes> chosen;
  for (const Benchmark& benchmark : benchmarks()) {
    CLI::App* command = app.add_subcommand(benchmark.info.name, benchmark.info.summary);
    request.common.add_to(*command);
    for (const Axis& axis : benchmark.info.axes) {
      if (axis.name == kReuse) continue;  // an option that the ceilings have too
      std::string& value = chosen[&benchmark][axis.name];
      value = axis.values.front();
      command->add_option("--" + axis.name, value, axis.summary)
          ->check(CLI::IsMember(axis.values))
          ->capture_default_str();
    }
    command->add_option_function<std::string>(
        "--buffers",
        [](const std::string& kinds) {
          if (kinds != "H,H")
            throw CLI::ValidationError("--buffers", "only H,H (host memory) is known");
        },
        "kind of each rank's buffer: H,H");
    command
        ->add_option("--offset", request.offset,
                     "bytes from a page boundary to the first buffer; malloc's large blocks: 16")
        ->check(CLI::Range(0, 4095))
        ->capture_default_str();
    command->callback([&request, &benchmark] { request.benchmark = &benchmark; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) std::exit(app.exit(error));
    throw BadInput(std::string(error.what()) + "; see nearpeak-mpi --help");
  }
  request.axes = chosen[request.benchmark];
  request.axes[kReuse] = request.common.reuse;
  request.sizes = request.common.ordered_sizes();
  std::erase_if(request.sizes,
                [&](std::size_t size) { return size < request.benchmark->info.smallest; });
  if (request.sizes.empty())
    throw BadInput(request.benchmark->info.name + " needs sizes of at least " +
                   std::to_string(request.benchmark->info.smallest) + " byte");
  parse_bytes(request.common.in_flight);
  return request;
}

int guarded(int argc, char** argv) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    return run(parse(argc, argv));
  } catch (const BadInput& error) {
    // Every rank has the same input, so every rank is here: one line is enough.
    if (rank == 0) std::cerr << "nearpeak-mpi: " << error.what() << std::endl;
    return kBadInput;
  } catch (const std::exception& error) {
    std::cerr << "nearpeak-mpi: rank " << rank << ": " << error.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, kFailed);
    return kFailed;
  }
}

// These answer without MPI, so that they work outside of any launcher.
bool only_asks(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    for (const char* option : {"--describe", "--help", "-h"})
      if (std::string(argv[i]) == option) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (only_asks(argc, argv)) {
    parse(argc, argv);
    return kGood;
  }
  MPI_Init(&argc, &argv);
  const int status = guarded(argc, argv);
  MPI_Finalize();
  return status;
}
