// SPDX-License-Identifier: Apache-2.0
#include "layer/window/window.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "calls/handles.hpp"
#include "layer/protocol/opening.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

auto& windows = *new calls::Handles<MPI_Win, Window*>;

// Why a window with memory of a device is not made, as bits.
enum Why : unsigned char { kNodes = 1, kDriver = 2, kHandle = 4, kReach = 8, kElsewhere = 16 };

const char* text_of(unsigned char why) {
  if ((why & kNodes) != 0)
    return "with memory of a device in a window of ranks that share no machine or no memory";
  if ((why & kDriver) != 0)
    return "with memory of a device in a window of which a rank sees no GPU";
  if ((why & kHandle) != 0)
    return "with memory of a device that other processes cannot open, as that of a pool";
  if ((why & kReach) != 0)
    return "with memory of a device that a rank of the window does not reach";
  return "with memory of a device between containers whose handles the driver does not open, "
         "unless "
         "it is mapped in chunks with file descriptors";
}

// What each rank says of itself.
struct Said {
  Window::Part part;
  std::array<char, 60> uuid{};
  unsigned char why = 0;
};

MPI_Op bitwise_or() {
#ifdef OMPI_MAJOR_VERSION
  static const auto found = calls::handle<MPI_Op>("ompi_mpi_op_bor");
  return found;
#else
  return MPI_BOR;
#endif
}

int refused(const Given& given, unsigned char why) {
  refuse("MPI_Win_create", text_of(why));
  return raise(given.comm, MPI_ERR_UNSUPPORTED_OPERATION);
}

unsigned char any_of(unsigned char own, MPI_Comm comm) {
  unsigned char all = 0;
  NEARPEAK_REAL(MPI_Allreduce)(&own, &all, 1, calls::byte_type(), bitwise_or(), comm);
  return all;
}

// Whether all are ranks of MPI_COMM_WORLD. Others may have no layer, which all see alike.
bool of_this_world(MPI_Comm comm, int ranks) {
  for (int i = 0; i < ranks; ++i)
    if (world_rank(comm, i) < 0) return false;
  return true;
}

Said own_part(const Given& given, const Found& found, Window& window) {
  const Guard guard;
  Said said;
  Window::Part& part = said.part;
  part.rank = world.rank;
  part.unit = given.unit;
  part.bytes = given.bytes;
  part.on_device = found.on_device;
  if (!found.on_device) return said;
  window.base = static_cast<char*>(given.data);
  window.size = given.bytes;
  window.place = world.devices.locate(found);
  accept_envelopes(window.place.device);
  auto shown = world.devices.show(window.place, given.data, static_cast<std::size_t>(given.bytes));
  if (!shown) {
    said.why = kHandle;
    return said;
  }
  part.allocation = shown->allocation;
  part.offset = shown->offset;
  part.handle = shown->exported;
  window.kept = std::move(shown->kept);
  const std::string& uuid = world.devices.uuid(window.place.device);
  std::copy_n(uuid.begin(), std::min(uuid.size(), said.uuid.size() - 1), said.uuid.begin());
  return said;
}

// By which device this rank reaches that of others: the one that it uses; where it has none, the
// first of theirs that it sees, or its own first.
int opener_of(const Window& window, const std::vector<Said>& all) {
  if (world.accepts_envelopes.load()) return world.home;
  if (window.base != nullptr) return window.place.device;
  if (const int current = world.devices.current(); current >= 0) return current;
  for (const Said& said : all)
    if (said.part.on_device)
      if (const int seen = world.devices.seen(said.uuid.data()); seen >= 0) return seen;
  return 0;
}

// Why this rank does not open what another one has; 0: it does.
unsigned char hindrance(int opener, const Said& said) {
  const Exported& theirs = said.part.handle;
  const int rank = said.part.rank;
  if (!process_of_rank(rank).has_number()) {
    // What it has to try with is of one device alone.
    if (said.uuid != area_of(rank).header().uuid && !world.devices.opens(opener, said.uuid.data()))
      return kReach;
    const Reach reach = tried(opener, rank);
    if (theirs.chunks > 0 ? reach.chunks : reach.handles) return 0;
    return reach.chunks ? kElsewhere : kReach;
  }
  if (theirs.chunks == 0)
    return world.devices.opens(opener, said.uuid.data(), theirs.handle) ? 0 : kReach;
  const bool opens = takes_files_of(rank) &&
                     world.devices.opens(opener, said.uuid.data(), area_of(rank).header().trial);
  return opens ? 0 : kReach;
}

// Why this rank does not reach what the others have.
unsigned char hindrances(Window& window, const std::vector<Said>& all) {
  unsigned why = 0;
  for (const Said& said : all) {
    why |= said.why;
    if (!world.areas[static_cast<std::size_t>(said.part.rank)]) why |= kNodes;
  }
  if (why != 0) return static_cast<unsigned char>(why);
  if (!world.devices.loaded()) return kDriver;
  const Guard guard;
  try {
    window.opener = opener_of(window, all);
    for (const Said& said : all)
      if (said.part.on_device && said.part.rank != world.rank)
        why |= hindrance(window.opener, said);
  } catch (const std::exception&) {
    why |= kDriver;
  }
  return static_cast<unsigned char>(why);
}

}  // namespace

MPI_Info no_hints() {
#ifdef OMPI_MAJOR_VERSION
  static const auto found = calls::handle<MPI_Info>("ompi_mpi_info_null");
  return found;
#else
  return MPI_INFO_NULL;
#endif
}

Window* known_window(MPI_Win window) {
  Window* const* const found = windows.find(window);
  return found == nullptr ? nullptr : *found;
}

Window& hold_window(MPI_Win window) {
  if (Window* const known = known_window(window)) return *known;
  return **windows.put(window, new Window);
}

void keep_window(MPI_Win window, std::unique_ptr<Window> kept) {
  windows.put(window, kept.release());
}

void forget_window(MPI_Win window) {
  Window* const known = known_window(window);
  windows.drop(window);
  delete known;
}

std::unique_ptr<Window> agree_on_window(const Given& given, int& code) {
  Found found;
  if (given.bytes > 0) found = world.devices.find(given.data);
  int ranks = 0;
  NEARPEAK_REAL(MPI_Comm_size)(given.comm, &ranks);
  if (!of_this_world(given.comm, ranks)) {
    if (found.on_device) code = refused(given, kNodes);
    return nullptr;
  }
  if (any_of(found.on_device ? 1 : 0, given.comm) == 0) return nullptr;
  auto window = std::make_unique<Window>();
  NEARPEAK_REAL(MPI_Comm_rank)(given.comm, &window->self);
  const Said own = own_part(given, found, *window);
  std::vector<Said> all(static_cast<std::size_t>(ranks));
  constexpr int kBytes = sizeof(Said);
  NEARPEAK_REAL(MPI_Allgather)
  (&own, kBytes, calls::byte_type(), all.data(), kBytes, calls::byte_type(), given.comm);
  const unsigned char why = any_of(hindrances(*window, all), given.comm);
  if (why != 0) {
    code = refused(given, why);
    return nullptr;
  }
  for (const Said& said : all) window->parts.push_back(said.part);
  return window;
}

Window::There Window::reach(int rank) {
  if (rank == self) return {base, place};
  // One that has none yet takes a device with its first access.
  if (!world.accepts_envelopes.load()) accept_envelopes(opener);
  // By the device of which all were told that it reaches theirs: the rank may use another one
  // since.
  const Part& theirs = part(rank);
  char* const allocation = world.devices.opened(opener, static_cast<std::uint32_t>(theirs.rank),
                                                theirs.allocation, theirs.handle);
  return {allocation + theirs.offset, Devices::place_of_opened(opener, theirs.handle)};
}

void Window::await_copies() {
  const Guard guard;
  world.devices.await_begun();
}

void Window::close() const {
  const Guard guard;
  world.devices.await_begun();
  for (const Part& part : parts)
    if (part.on_device && part.rank != world.rank)
      world.devices.close(static_cast<std::uint32_t>(part.rank), part.allocation, part.handle);
}

void Window::hold(int rank, SharedShadows shadows) {
  // Those whose requests have said that they are complete.
  if (held_.size() > 2 * tidied_ + 16) {
    std::erase_if(held_, [](const Held& held) { return held.shadows->empty(); });
    tidied_ = held_.size();
  }
  held_.push_back({rank, ++last_, std::move(shadows)});
}

std::uint64_t Window::last() const {
  const Guard guard;
  return last_;
}

void Window::complete(int rank, std::uint64_t until) {
  const Guard guard;
  std::erase_if(held_, [&](const Held& held) {
    if ((rank != kAll && held.rank != rank) || held.number > until) return false;
    write_back_once(*held.shadows);
    return true;
  });
}

int fence_window(int assertion, MPI_Win window) {
  const Window* const known = known_window(window);
  // What is asserted may save the library a meeting of all ranks, but these copy by themselves.
  if (known != nullptr && !known->parts.empty()) assertion = 0;
  return complete_accesses(window, Window::kAll,
                           [&] { return NEARPEAK_REAL(MPI_Win_fence)(assertion, window); });
}

int free_window(MPI_Win* window) {
  // Before other ranks hear of it: they may free their memory then, which is not free while this
  // one has it open.
  if (const Window* const known = known_window(*window)) known->close();
  // The library has the stand-in until then, and may give the handle again from then on.
  const MPI_Win handle = *window;
  std::unique_ptr<Window> kept(known_window(handle));
  windows.drop(handle);
  const int code = NEARPEAK_REAL(MPI_Win_free)(window);
  if (code != MPI_SUCCESS && kept) keep_window(handle, std::move(kept));
  return code;
}

bool is_dynamic(MPI_Win window) {
  int* flavor = nullptr;
  int there = 0;
  NEARPEAK_REAL(MPI_Win_get_attr)(window, MPI_WIN_CREATE_FLAVOR, &flavor, &there);
  return there != 0 && *flavor == MPI_WIN_FLAVOR_DYNAMIC;
}

int get_window_attribute(MPI_Win window, int key, void* value, int* flag) {
  const int code = NEARPEAK_REAL(MPI_Win_get_attr)(window, key, value, flag);
  Window* const known = known_window(window);
  if (known == nullptr || known->base == nullptr || code != MPI_SUCCESS || *flag == 0) return code;
  if (key == MPI_WIN_BASE)
    *static_cast<void**>(value) = known->base;
  else if (key == MPI_WIN_SIZE)
    *static_cast<MPI_Aint**>(value) = &known->size;
  return code;
}

bool query_window(MPI_Win window, int rank, MPI_Aint* bytes, MPI_Count* unit, void* base) {
  const Window* const known = known_window(window);
  if (known == nullptr || !known->has_on_device(rank)) return false;
  const bool own = rank == known->self;
  *bytes = own ? static_cast<MPI_Aint>(known->part(rank).bytes) : 0;
  *unit = known->part(rank).unit;
  *static_cast<void**>(base) = own ? known->base : nullptr;
  return true;
}

}  // namespace nearpeak::layer
