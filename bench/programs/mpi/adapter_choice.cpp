// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/adapter_choice.hpp"

#include <cstdlib>
#include <fstream>

#include "counters/files.hpp"
#include "options/launched.hpp"
#include "options/options.hpp"

namespace nearpeak {

std::string why_no_adapter(const std::string& name, const std::string& root) {
  const auto colon = name.find(':');
  if (colon == std::string::npos) return "";
  const std::string adapters = root + "/sys/class/infiniband/";
  std::ifstream file(adapters + name.substr(0, colon) + "/ports/" + name.substr(colon + 1) +
                     "/state");
  int number = 0;
  std::string state;
  if (file >> number) {
    file.ignore();  // "4: ACTIVE"
    file >> state;
    return state == "ACTIVE" ? "" : "adapter " + name + " is " + state + ", not ACTIVE";
  }
  std::vector<std::string> known;
  for (const std::string& adapter : names_in(adapters))
    for (const std::string& port : names_in(adapters + adapter + "/ports"))
      known.push_back(adapter + ":" + port);
  return "there is no adapter " + name + (known.empty() ? "" : ", but " + comma_list(known));
}

// UCX reads it in MPI_Init; other transports have no common variable.
void choose_adapter(const std::vector<std::string>& adapters) {
  if (adapters.empty()) return;
  const auto rank = launched_rank();
  if (!rank)
    throw BadInput("--adapters needs the rank before MPI is initialised, and there is none in " +
                   rank_variables() + ": start it with a launcher, like mpirun -n 2");
  const std::string& mine = adapters[static_cast<std::size_t>(*rank) % adapters.size()];
  if (mine == "-") return;
  if (const std::string why = why_no_adapter(mine); !why.empty())
    throw BadInput(why + ": give another to --adapters");
  setenv("UCX_NET_DEVICES", mine.c_str(), 1);
}

}  // namespace nearpeak
