// SPDX-License-Identifier: Apache-2.0
// Windows of which some rank's memory is on a device: what each rank has there, and which accesses
// are under way. The MPI library has a window of stand-ins in the place of such memory, by which
// ranks meet (docs/contributing/layer-design.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "calls/real.hpp"
#include "layer/copy/devices.hpp"
#include "layer/copy/host_shadow.hpp"

namespace nearpeak::layer {

class Window {
 public:
  // What a rank has given.
  struct Part {
    bool on_device = false;
    int rank = 0;  // in MPI_COMM_WORLD
    MPI_Count unit = 1;
    MPI_Count bytes = 0;
    std::uint64_t allocation = 0;
    std::uint64_t offset = 0;  // in its allocation
    Exported handle{};
  };
  // Memory of a rank as this one reaches it.
  struct There {
    char* base;
    Located place;
  };
  static constexpr std::size_t kStandIn = 64;

  bool has_on_device(int rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < parts.size() && part(rank).on_device;
  }
  const Part& part(int rank) const { return parts[static_cast<std::size_t>(rank)]; }
  // Of a rank that has it on a device.
  There reach(int rank);

  // Those that this rank has begun.
  static void await_copies();
  // Awaits them, and keeps no memory of others open.
  void close() const;
  // HostShadows of buffers until the access to a rank's host memory is complete, which the MPI
  // library has begun.
  void hold(int rank, SharedShadows shadows);
  // The last access that is held.
  std::uint64_t last() const;
  // The accesses to a rank, or to all, up to this one are complete: what they have received goes to
  // the device.
  static constexpr int kAll = std::numeric_limits<int>::min();  // MPI_PROC_NULL may be -1
  void complete(int rank, std::uint64_t until);

  std::vector<Part> parts;  // by rank of the window; none where all memory is the host's
  int self = 0;
  char* base = nullptr;  // of this rank, on a device
  MPI_Aint size = 0;     // then
  Located place;
  ShownChunks::Kept kept;  // as it is shown to the others
  int opener = 0;          // the device by which this rank opens that of others
  std::array<char, kStandIn> stand_in{};

 private:
  struct Held {
    int rank;
    std::uint64_t number;
    SharedShadows shadows;
  };
  std::vector<Held> held_;
  std::size_t tidied_ = 0;  // how many there were then
  std::uint64_t last_ = 0;
};

// Null where the layer has nothing to do with a window.
Window* known_window(MPI_Win window);
// The same of one of host memory, with which it has from now on.
Window& hold_window(MPI_Win window);
void forget_window(MPI_Win window);

// Of MPI_Win_create. `create(base, bytes, hinted)`: how the MPI library makes it, with the hints of
// the application or without.
struct Given {
  void* data;
  MPI_Aint bytes;
  MPI_Count unit;
  MPI_Comm comm;
};
// All ranks agree on what they have. Null where none has memory of a device; `code`: where it is
// not done, the error that was raised.
std::unique_ptr<Window> agree_on_window(const Given& given, int& code);
void keep_window(MPI_Win window, std::unique_ptr<Window> kept);

template <typename Create>
int create_window(const Given& given, const MPI_Win* made, const Create& create) {
  int code = MPI_SUCCESS;
  std::unique_ptr<Window> window = agree_on_window(given, code);
  if (code != MPI_SUCCESS) return code;
  if (!window) return create(given.data, given.bytes, true);
  const bool own = window->base != nullptr;
  code = create(own ? window->stand_in.data() : given.data,
                own ? static_cast<MPI_Aint>(Window::kStandIn) : given.bytes, false);
  if (code == MPI_SUCCESS) keep_window(*made, std::move(window));
  return code;
}

// A call that completes accesses to a rank, or to all. Copies are done before other ranks hear of
// it. Of shadows only those are written back that were held before it began: another thread's
// access may begin meanwhile, of which the call says nothing.
template <typename Call>
int complete_accesses(MPI_Win window, int rank, const Call& call) {
  Window* const known = known_window(window);
  if (known == nullptr) return call();
  known->await_copies();
  const std::uint64_t until = known->last();
  const int code = call();
  if (code == MPI_SUCCESS) known->complete(rank, until);
  return code;
}

int fence_window(int assertion, MPI_Win window);
int free_window(MPI_Win* window);
// Whether memory is attached to it later, which must be the host's.
bool is_dynamic(MPI_Win window);
int get_window_attribute(MPI_Win window, int key, void* value, int* flag);
// What a rank has in a window whose memory the application may reach itself. False: the MPI
// library knows.
bool query_window(MPI_Win window, int rank, MPI_Aint* bytes, MPI_Count* unit, void* base);

MPI_Info no_hints();

}  // namespace nearpeak::layer
