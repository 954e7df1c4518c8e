// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/adapter_choice.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

using namespace nearpeak;
namespace fs = std::filesystem;

TEST_CASE("adapters: one that a host lacks, or that is down, is named with those that it has") {
  std::string pattern = (fs::temp_directory_path() / "nearpeak-adapters-XXXXXX").string();
  const std::string root = mkdtemp(pattern.data());
  CHECK(why_no_adapter("mlx5_0:1", root) == "there is no adapter mlx5_0:1");
  for (const auto& [port, state] :
       {std::pair{"mlx5_1/ports/1", "4: ACTIVE"}, std::pair{"mlx5_0/ports/1", "4: ACTIVE"},
        std::pair{"mlx5_0/ports/2", "1: DOWN"}}) {
    const fs::path folder = root + "/sys/class/infiniband/" + port;
    fs::create_directories(folder);
    std::ofstream(folder / "state") << state << "\n";
  }
  CHECK(why_no_adapter("mlx5_0:1", root).empty());
  CHECK(why_no_adapter("mlx5_0:2", root) == "adapter mlx5_0:2 is DOWN, not ACTIVE");
  CHECK(why_no_adapter("mlx5_7:1", root) ==
        "there is no adapter mlx5_7:1, but mlx5_0:1, mlx5_0:2, mlx5_1:1");
  CHECK(why_no_adapter("eth7", root).empty());  // the library knows
  fs::remove_all(root);
}
