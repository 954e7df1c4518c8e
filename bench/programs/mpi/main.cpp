// SPDX-License-Identifier: Apache-2.0
// nearpeak-mpi: benchmarks of one MPI library, under any MPI launcher.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include "group/failure.hpp"
#include "options/launched.hpp"
#include "programs/mpi/adapter_choice.hpp"
#include "programs/mpi/command.hpp"
#include "programs/mpi/measure.hpp"
#include "programs/mpi/pairs.hpp"
#include "programs/mpi/places.hpp"
#include "programs/mpi/probe.hpp"

namespace {

using namespace nearpeak;

// What stops a rank before MPI_Init is said after it: the others would wait for it there.
Failure prepare(int argc, char** argv, std::vector<Command>& parts, DeviceChoice& taken) {
  return failure_in([&] {
    parts = parse(argc, argv);
    if (parts.front().pairs) choose_adapter(parts.front().pairs->adapters);
    std::vector<Kinds> kinds;
    for (const Command& part : parts)
      for (const Kinds& each : part.launched_kinds()) kinds.push_back(each);
    taken = DeviceChoice(kinds, parts.front().devices);
    const auto sends = [&](const Command& part) {
      return part.sends_from_device(taken.rank(), taken.ranks());
    };
    if (const Device* const device = taken.device(); device != nullptr &&
                                                     !device->shares_addresses() &&
                                                     std::any_of(parts.begin(), parts.end(), sends))
      throw BadInput(device->info().name +
                     " has no addresses of device memory that MPI could be given: add --staging " +
                     "pinned, or take M in place of D in --buffers");
  });
}

int run(const std::vector<Command>& parts, const DeviceChoice& taken, const Failure& failure,
        MpiGroup& group) {
  if (const std::string alone = jobs_of_one(group); !alone.empty()) {
    if (launched_rank().value_or(0) != 0) return kBadInput;  // the first says it for all
    throw BadInput(alone);
  }
  if (const int status = settle("nearpeak-mpi", failure, group); status != 0) return status;
  for (const Command& part : parts) part.check_ranks(group.size());
  if (taken.ranks() != 0 && taken.ranks() != group.size())
    throw BadInput("the launcher does not tell the number of ranks (" +
                   std::to_string(group.size()) + "): give one letter for all to --buffers");
  // As programs do that choose their GPU after MPI_Init. With another one current, Intel MPI
  // 2021.19 crashes in MPI_Finalize (docs/contributing/adding-a-library.md).
  taken.use_in_this_thread();
  const Command& first = parts.front();
  check_writable(first.common.jsonl, group);
  if (first.pairs) return measure_pairs(first, taken, group);
  return first.trials.empty() ? measure(parts, taken, group) : probe(first, taken, group);
}

// Several threads are asked for only where they are needed: that changes other figures.
void initialise(int& argc, char**& argv, const std::vector<Command>& parts) {
  if (parts.empty() || !parts.front().calls_from_threads()) {
    MPI_Init(&argc, &argv);
    return;
  }
  int granted = MPI_THREAD_SINGLE;  // whoever needs more asks again
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
}

int guarded(const std::vector<Command>& parts, const DeviceChoice& taken, const Failure& failure) {
  MpiGroup group;
  try {
    return run(parts, taken, failure, group);
  } catch (const BadInput& error) {
    // Every rank finds the same, so every rank is here: one line is enough.
    if (group.leads()) std::cerr << "nearpeak-mpi: " << error.what() << std::endl;
    return kBadInput;
  } catch (const std::exception& error) {
    std::cerr << "nearpeak-mpi: rank " + std::to_string(group.rank()) + ": " + error.what() + "\n"
              << std::flush;
    // Launchers forward what was said only while the job lives: PRRTE loses what came just before.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    MPI_Abort(MPI_COMM_WORLD, kFailed);
    return kFailed;
  }
}

// These answer without MPI, so that they work outside of any launcher.
bool only_asks(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    for (const char* option : {"--check", "--describe", "--help", "-h", "--version"})
      if (std::string(argv[i]) == option) return true;
  return false;
}

int answer(int argc, char** argv) {
  try {
    for (const Command& part : parse(argc, argv))
      for (const std::string& note : part.notes) std::cerr << "nearpeak-mpi: " << note << std::endl;
    return kGood;
  } catch (const BadInput& error) {
    std::cerr << "nearpeak-mpi: " << error.what() << std::endl;
    return kBadInput;
  } catch (const std::exception& error) {
    std::cerr << "nearpeak-mpi: " << error.what() << std::endl;
    return kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (only_asks(argc, argv)) return answer(argc, argv);
  try {
    check_launcher();
  } catch (const BadInput& error) {
    if (launched_rank().value_or(0) == 0)
      std::cerr << "nearpeak-mpi: " << error.what() << std::endl;
    return kBadInput;
  }
  std::vector<Command> parts;
  DeviceChoice taken;  // given back after MPI_Finalize, which may still use it
  const Failure failure = prepare(argc, argv, parts, taken);
  initialise(argc, argv, parts);
  const int status = guarded(parts, taken, failure);
  MPI_Finalize();
  return status;
}
