// SPDX-License-Identifier: Apache-2.0
#include "options/launched.hpp"

#include <doctest/doctest.h>

#include "options/options.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

// No launcher: an empty environment but for what a test sets.
class NoLauncher {
 public:
  NoLauncher() {
    for (const char* name :
         {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID",
          "FLUX_TASK_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
          "MV2_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID",
          "PMI_LOCAL_RANK", "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID", "PMI_SIZE",
          "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
      unsetenv(name);
  }
};

}  // namespace

TEST_CASE("a rank is what its launcher says, and a launcher inside a Slurm job is nearer") {
  const NoLauncher none;
  CHECK(!launched_rank());
  CHECK(!launched_local_rank());
  const Variable slurm("SLURM_PROCID", "0");
  const Variable slurm_local("SLURM_LOCALID", "0");
  CHECK(launched_rank() == 0);
  CHECK(launched_local_rank() == 0);
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK",
                           "PALS_RANKID", "FLUX_TASK_RANK"}) {
    const Variable rank(name, "3");
    CHECK(launched_rank() == 3);
  }
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
        "MVP_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK", "FLUX_TASK_LOCAL_ID"}) {
    const Variable rank(name, "1");
    CHECK(launched_local_rank() == 1);
  }
}

TEST_CASE("a rank has others where no launcher says that it is the only one") {
  const NoLauncher none;
  CHECK(!launched_with_others());
  const Variable job("SLURM_NTASKS", "4");  // of a batch script too
  CHECK(!launched_with_others());
  const Variable two("PMI_SIZE", "2");
  CHECK(launched_with_others());
  const Variable inner("OMPI_COMM_WORLD_SIZE", "1");
  CHECK(!launched_with_others());
}

TEST_CASE("what is not a rank is refused with the variable's name") {
  const NoLauncher none;
  for (const char* bad : {"", "x", "-1", "1x", "99999999999"}) {
    const Variable rank("PMI_RANK", bad);
    CHECK_THROWS_WITH_AS(launched_rank(), doctest::Contains("PMI_RANK is '"), BadInput);
  }
}

TEST_CASE("the variables are named for people") {
  CHECK(rank_variables() ==
        "PMI_RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, MV2_COMM_WORLD_RANK, PALS_RANKID, "
        "FLUX_TASK_RANK or SLURM_PROCID");
}
