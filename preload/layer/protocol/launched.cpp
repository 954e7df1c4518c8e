// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/launched.hpp"

#include <array>
#include <cstdlib>

namespace nearpeak::layer {
namespace {

struct Variables {
  const char* processes;
  const char* rank;
};
// Of Open MPI's mpirun; of MPICH's and Intel MPI's mpiexec and what stands for it; of srun; of
// flux.
constexpr std::array kAll{Variables{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                          Variables{"PMI_SIZE", "PMI_RANK"},
                          Variables{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
                          Variables{"FLUX_JOB_SIZE", "FLUX_TASK_RANK"}};

int number(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

Launched launched(const std::string& own) {
  Launched found;
  for (const Variables& each : kAll) {
    const int processes = number(each.processes);
    if (processes > 0 && own == each.processes) return {processes, number(each.rank), own};
    if (processes > found.processes) found = {processes, number(each.rank), each.processes};
  }
  return found;
}

}  // namespace nearpeak::layer
