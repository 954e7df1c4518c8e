// SPDX-License-Identifier: Apache-2.0
// The network adapter of a rank, which `nearpeak-mpi pairs --adapters` names.
#pragma once

#include <string>
#include <vector>

namespace nearpeak {

// Why this host cannot use an adapter like mlx5_0:1; empty: it can, or the name is of another kind.
// `root`: the folder that has sys.
std::string why_no_adapter(const std::string& name, const std::string& root = "");

// Gives this rank its adapter, before MPI_Init. Throws BadInput.
void choose_adapter(const std::vector<std::string>& adapters);

}  // namespace nearpeak
