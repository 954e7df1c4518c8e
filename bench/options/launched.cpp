// SPDX-License-Identifier: Apache-2.0
#include "options/launched.hpp"

#include <charconv>
#include <cstdlib>
#include <span>

#include "options/options.hpp"

namespace nearpeak {
namespace {

// Where launchers tell the rank, and how many there are; jobs' own last, as in kLocalRank.
constexpr const char* kRank[]{
    "PMI_RANK",    "OMPI_COMM_WORLD_RANK", "PMIX_RANK",   "MV2_COMM_WORLD_RANK",
    "PALS_RANKID", "FLUX_TASK_RANK",       "SLURM_PROCID"};
constexpr const char* kRanks[]{"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE",
                               "SLURM_NTASKS"};

// Of a launch alone: SLURM_NTASKS stands in a whole job.
constexpr const char* kStarted[]{"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE",
                                 "SLURM_STEP_NUM_TASKS"};

std::optional<int> number(const char* name) {
  const char* variable = std::getenv(name);
  if (variable == nullptr) return std::nullopt;
  const std::string text = variable;
  int value = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || value < 0)
    throw BadInput(std::string(name) + " is '" + text +
                   "', which is not a rank: start it with mpirun");
  return value;
}

std::optional<int> first_number(std::span<const char* const> names) {
  for (const char* name : names)
    if (const auto value = number(name)) return value;
  return std::nullopt;
}

// "A, B or C".
std::string listed(std::span<const char* const> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + std::string(names[i]);
  return text;
}

}  // namespace

std::optional<int> launched_rank() { return first_number(kRank); }
std::optional<int> launched_local_rank() { return first_number(kLocalRank); }
std::optional<int> launched_ranks() { return first_number(kRanks); }

bool launched_with_others() {
  bool said = false;
  for (const char* name : kStarted) {
    const auto ranks = number(name);
    if (ranks == 1) return false;
    said = said || ranks;
  }
  return said;
}

int launched_rank_of_two(const std::string& mode) {
  const auto rank = launched_rank();
  if (!rank)
    throw BadInput(mode + " --peer finds no rank in " + rank_variables() +
                   ": start it with a launcher, like mpirun -n 2");
  if (*rank > 1)
    throw BadInput(mode + " --peer runs on two ranks, 0 and 1: this one is rank " +
                   std::to_string(*rank));
  return *rank;
}

std::string rank_variables() { return listed(kRank); }
std::string local_rank_variables() { return listed(kLocalRank); }

}  // namespace nearpeak
