// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/neighbours.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "layer/copy/file_server.hpp"
#include "layer/copy/process.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

// What each rank says of itself. All of it is the kernel's but the user, whose number the namespace
// of users decides: containers may have any host name, and the same number for several processes.
struct Place {
  std::array<char, 40> boot{};
  std::uint64_t processes = 0;  // the namespace of their numbers; the same on many machines
  std::uint64_t user = 0;
  bool operator==(const Place&) const = default;
  bool shares_kernel(const Place& other) const {
    return boot.front() != '\0' && boot == other.boot;
  }
  // Whether processes there have the numbers that they have here.
  bool shares_numbers(const Place& other) const {
    return shares_kernel(other) && processes != 0 && *this == other;
  }
};
struct Info {
  Place place;
  Key key{};  // which its area begins with
  std::int32_t process = 0;
  std::uint32_t fd = 0;
  std::int32_t driver = 0;
  std::int32_t shares = 0;  // whether it has an area
  std::uint64_t direct = 0;
};
using Infos = std::vector<Info>;

Place own_place() {
  Place place;
  std::ifstream("/proc/sys/kernel/random/boot_id").read(place.boot.data(), 36);
  place.processes = own_process_namespace();
  place.user = geteuid();
  return place;
}

template <typename One>
std::vector<One> of_all(const One& own) {
  std::vector<One> all(static_cast<std::size_t>(world.size));
  constexpr int kBytes = sizeof(One);
  NEARPEAK_REAL(MPI_Allgather)
  (&own, kBytes, calls::byte_type(), all.data(), kBytes, calls::byte_type(), calls::comm_world());
  return all;
}

Info own_info(bool driver) {
  Info own{.place = own_place(),
           .key = random_key(),
           .process = getpid(),
           .driver = driver ? 1 : 0,
           .direct = world.settings.direct_bytes};
  try {
    auto area = std::make_unique<Area>();
    Header& header = area->header();
    header.self = reinterpret_cast<std::uint64_t>(&header);
    header.key = own.key;
    if (driver) let_others_reach();
    own.fd = area->fd();
    header.file = static_cast<std::int32_t>(own.fd);
    own.shares = 1;
    world.areas[static_cast<std::size_t>(world.rank)] = std::move(area);
  } catch (const std::exception&) {
    // Its messages go through host memory.
  }
  return own;
}

// Which this rank could reach as far as they say.
bool may_reach(const Infos& infos, std::size_t other) {
  const Info& own = infos[static_cast<std::size_t>(world.rank)];
  return own.shares != 0 && infos[other].shares != 0 && own.place.shares_kernel(infos[other].place);
}

bool is_reached(std::size_t rank) { return world.areas[rank] != nullptr; }

// Throws where it is not that rank's, too.
void reach(std::size_t rank, std::unique_ptr<Process> process, const Info& info) {
  world.areas[rank] = std::make_unique<Area>(*process, info.fd, info.key);
  world.processes[rank] = std::move(process);
}

void reach_by_numbers(const Infos& infos) {
  const Place& own = infos[static_cast<std::size_t>(world.rank)].place;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (is_reached(i) || !may_reach(infos, i) || !own.shares_numbers(infos[i].place)) continue;
    try {
      reach(i, process_of(infos[i].process), infos[i]);
    } catch (const std::exception&) {
      // /proc is that of other processes, or the system keeps them from this one.
    }
  }
}

bool reaches_all(const Infos& infos) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (may_reach(infos, i) && !is_reached(i)) return false;
  return true;
}

// Why some rank is not met that this one could reach. Once they take too long it asks no more: the
// others wait for it, and all are met or none.
NotMet reach_by_sockets(const Infos& infos, const std::vector<Doors>& doors) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  NotMet why_not = NotMet::kNot;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (is_reached(i) || !may_reach(infos, i)) continue;
    if (std::chrono::steady_clock::now() > until) return std::max(why_not, NotMet::kNoFiles);
    NotMet why = NotMet::kNowhere;
    auto process = meet(doors[i], why, until);
    try {
      if (process) reach(i, std::move(process), infos[i]);
    } catch (const std::exception&) {
      why = NotMet::kNoFiles;
    }
    why_not = std::max(why_not, why);
  }
  return why_not;
}

Hindrance hindrance(NotMet why) {
  if (why == NotMet::kOtherUser) return Hindrance::kOtherUser;
  return why == NotMet::kNoFiles ? Hindrance::kNoFiles : Hindrance::kNoMeeting;
}

// For each rank, why those of its kernel do not reach each other, alike on all ranks.
std::vector<NotMet> agree(const Infos& infos) {
  std::vector<NotMet> why_not(infos.size(), NotMet::kNot);
  const auto self = static_cast<std::size_t>(world.rank);
  const std::vector<char> misses = of_all<char>(reaches_all(infos) ? 0 : 1);
  if (std::count(misses.begin(), misses.end(), 0) == world.size) return why_not;
  bool serves = false;
  for (std::size_t i = 0; i < infos.size(); ++i)
    serves = serves || (misses[i] != 0 && may_reach(infos, i));
  Doors doors;
  try {
    if (serves)
      world.file_server =
          std::make_unique<FileServer>(std::vector<std::string>{world.settings.folder, "/dev/shm"});
    if (serves) doors = world.file_server->doors();
  } catch (const std::exception&) {
    // It meets others, and they do not meet it.
  }
  const std::vector<Doors> all_doors = of_all(doors);
  const std::vector<NotMet> why = of_all(reach_by_sockets(infos, all_doors));
  if (world.file_server) world.file_server->close_doors();
  std::vector<std::size_t> firsts(infos.size());  // of each kernel
  for (std::size_t i = 0; i < infos.size(); ++i) {
    while (firsts[i] < i && !infos[firsts[i]].place.shares_kernel(infos[i].place)) ++firsts[i];
    why_not[firsts[i]] = std::max(why_not[firsts[i]], why[i]);
  }
  for (std::size_t i = 0; i < infos.size(); ++i) why_not[i] = why_not[firsts[i]];
  if (why_not[self] == NotMet::kNot) return why_not;
  // Not all of this kernel meet: ranks go by numbers alone.
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (!is_reached(i) || world.processes[i]->has_number()) continue;
    world.areas[i].reset();
    world.processes[i].reset();
  }
  world.file_server.reset();
  return why_not;
}

// By rank, the first of its machine.
std::vector<int> machines_of(const Infos& infos, const std::vector<NotMet>& why_not) {
  std::vector<int> machines;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const auto is_its_own = [&](const Info& other) {
      return why_not[i] == NotMet::kNot ? infos[i].place.shares_kernel(other.place)
                                        : infos[i].place.shares_numbers(other.place);
    };
    const auto first = std::find_if(infos.begin(), infos.end(), is_its_own);
    const bool on_one = first != infos.end() && infos[i].shares != 0 && infos[i].driver != 0;
    machines.push_back(on_one ? static_cast<int>(first - infos.begin()) : -1);
  }
  return machines;
}

}  // namespace

std::uint64_t own_process_namespace() {
  struct stat found{};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

int meet_neighbours(bool driver) {
  const auto ranks = static_cast<std::size_t>(world.size);
  const auto self = static_cast<std::size_t>(world.rank);
  world.areas.resize(ranks);
  world.processes.resize(ranks);
  world.processes[self] = process_of(getpid());
  const Infos infos = of_all(own_info(driver));
  reach_by_numbers(infos);
  // Nobody closes what others have not opened: all wait here.
  const std::vector<NotMet> why_not = agree(infos);
  world.settings.direct_bytes = infos[0].direct;
  world.machines = machines_of(infos, why_not);
  world.why_apart = hindrance(why_not[self]);
  world.mapped = infos[self].shares != 0 && driver;
  world.apart.assign(ranks, false);
  int drivers = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    drivers += infos[i].driver;
    const bool numbers = infos[self].place.shares_numbers(infos[i].place);
    world.apart[i] = !is_reached(i) && may_reach(infos, i);
    if (world.apart[i] && numbers) world.mapped = false;
  }
  world.far = std::count(world.areas.begin(), world.areas.end(), nullptr) > 0;
  return drivers;
}

}  // namespace nearpeak::layer
