// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/launched.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace nearpeak::layer {
namespace {

constexpr const char* kVariables[]{
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",      "PMI_RANK",
    "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",         "FLUX_JOB_SIZE", "FLUX_TASK_RANK"};

TEST_CASE("the launcher's own variables say how many processes there are") {
  for (const char* const variable : kVariables) unsetenv(variable);
  CHECK(launched("PMI_SIZE").processes == 0);
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  setenv("SLURM_PROCID", "3", 1);
  const Launched by_slurm = launched("PMI_SIZE");
  CHECK(by_slurm.processes == 8);
  CHECK(by_slurm.rank == 3);
  CHECK(by_slurm.variable == "SLURM_STEP_NUM_TASKS");
  // That of the library's launcher is set within a step of another's.
  setenv("PMI_SIZE", "1", 1);
  CHECK(launched("PMI_SIZE").processes == 1);
  CHECK(launched("OMPI_COMM_WORLD_SIZE").processes == 8);
  for (const char* const variable : kVariables) unsetenv(variable);
}

}  // namespace
}  // namespace nearpeak::layer
