// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/places.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "options/launched.hpp"
#include "options/launcher.hpp"
#include "options/options.hpp"

namespace nearpeak {
namespace {

bool is_index(const std::string& asked) {
  return std::all_of(asked.begin(), asked.end(),
                     [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

// One rank with the device that it asked for, by --devices or by its place on the host, and took.
struct DeviceOfRank {
  int rank;
  std::string host;
  std::string asked;
  std::string uuid;
  int visible;  // devices that it might have taken

  bool by_place() const { return asked.find(kByPlace) != std::string::npos; }
  std::string text() const {
    return "rank " + std::to_string(rank) + " on " + host + " asked for " + asked + " and has " +
           uuid;
  }
};

// Throws BadInput. An index and a UUID may well name the same device, and where each rank sees a
// device of its own alone, the first of each is another.
void check_pair(const DeviceOfRank& a, const DeviceOfRank& b) {
  if (a.host != b.host || is_index(a.asked) != is_index(b.asked)) return;
  if ((a.asked == b.asked) == (a.uuid == b.uuid)) return;
  if (a.uuid != b.uuid && a.by_place()) return;
  throw BadInput(std::string(a.uuid == b.uuid ? "two ranks share a device that asked for two: "
                                              : "two ranks have two devices that asked for one: ") +
                 a.text() + ", " + b.text() +
                 ": give UUIDs in --devices, or the same CUDA_VISIBLE_DEVICES to every rank");
}

// Of the ranks of a host that took devices by their place, the one that is on a device with more of
// them than there need be, or null: what they took for their place was none. With fewer ranks than
// devices nobody shares.
const DeviceOfRank* crowded(const std::vector<DeviceOfRank>& taken) {
  for (const DeviceOfRank& device : taken) {
    const auto beside = [&](const DeviceOfRank& other) {
      return other.by_place() && other.host == device.host;
    };
    const auto all = std::count_if(taken.begin(), taken.end(), beside);
    const auto here = std::count_if(taken.begin(), taken.end(), [&](const DeviceOfRank& other) {
      return beside(other) && other.uuid == device.uuid;
    });
    if (device.by_place() && here > (all + device.visible - 1) / device.visible) return &device;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> gather_places(const DeviceChoice& devices, MpiGroup& group) {
  const int rank = group.rank();
  if (!group.everywhere(devices.rank() < 0 || devices.rank() == group.launched_rank()))
    throw BadInput(
        "the launcher numbers the ranks otherwise than MPI does: unset the variables of "
        "other launchers (" +
        rank_variables() + ")");
  RankPlace place = this_place(rank);
  place.device = devices.place();
  const auto places = group.gather(to_json(place));
  const auto asked = group.gather(devices.asked());
  const auto hosts = group.gather(place.host);
  const auto uuids = group.gather(place.device ? place.device->uuid : "");
  const auto visible = group.gather(devices.visible());
  std::vector<DeviceOfRank> taken;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (asked[i].empty()) continue;
    const DeviceOfRank next{static_cast<int>(i), hosts[i], asked[i], uuids[i], visible[i]};
    for (const DeviceOfRank& other : taken) check_pair(other, next);
    taken.push_back(next);
  }
  if (const DeviceOfRank* const device = crowded(taken))
    throw BadInput("more ranks share a device than need to: " + device->text() + ", of " +
                   std::to_string(device->visible) +
                   " devices, as the launcher does not tell the ranks of a host apart (" +
                   local_rank_variables() + "): name devices in --devices");
  return places;
}

void check_writable(const std::string& jsonl, Group& group) {
  std::string why;
  try {
    if (group.leads() && !jsonl.empty()) const RecordWriter writer(jsonl);
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  why = group.first_reason(why);
  if (!why.empty()) throw BadInput(why);
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  return text;
}

std::string library_name() {
  const std::string whole = library_version();
  return whole.substr(0, whole.find_first_of(",\n"));
}

// By a name that no tool defines which stands before the library: those of nearpeak have PMPI_Init
// in Open MPI's ABI.
std::string library_file() {
  Dl_info info{};
  void* const function = dlsym(RTLD_DEFAULT, "PMPI_Get_library_version");
  if (function == nullptr || dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

void check_launcher() {
  const auto started_by = launcher();
  const std::string file = library_file();
  if (!started_by || file.empty()) return;
  const char* const chosen = std::getenv("LD_LIBRARY_PATH");
  const std::string why =
      not_of_launcher(*started_by, file, library_name(), chosen == nullptr ? "" : chosen);
  if (!why.empty()) throw BadInput(why);
}

std::string jobs_of_one(const Group& group) {
  if (group.size() > 1 || !launched_with_others()) return "";
  return "the launcher started several ranks, and each is alone to " + library_name() + " (" +
         library_file() +
         "): start them with that library's own mpirun, by srun with the --mpi that it knows, or "
         "set LD_LIBRARY_PATH to the folder of the library that is meant";
}

}  // namespace nearpeak
