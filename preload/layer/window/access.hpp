// SPDX-License-Identifier: Apache-2.0
// Accesses to memory of other ranks by windows (window.hpp): to memory of a device by copies of
// this rank, to that of the host by the MPI library, which is given shadows of buffers on devices.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "layer/collective/collective.hpp"
#include "layer/copy/host_shadow.hpp"
#include "layer/window/window.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Elements in memory of this rank.
struct Local {
  const void* data = nullptr;
  MPI_Count n = 0;
  MPI_Datatype type{};
};

// Elements in a window.
struct Remote {
  MPI_Win window;
  int rank;
  MPI_Aint place;
  MPI_Count n;
  MPI_Datatype type;
};

enum class Form { kPut, kGet, kAccumulate, kCompareAndSwap };

struct Access {
  Form form;
  Remote there;
  Local data;      // what is given
  Local in;        // where what was there is received
  Local expected;  // by MPI_Compare_and_swap
  MPI_Op op{};     // of accumulating
};
constexpr std::size_t kLocals = 3;
// What the MPI library is given in the place of the buffers: data, in, expected.
using Places = std::array<const void*, kLocals>;

// Done when it returns, or, later, when copies have been awaited. Returns the error that it has
// raised.
enum class Done { kNow, kLater };
int access_device(Window& window, const Access& access, Done when);
// A request that is complete.
int completed_request(MPI_Request* request);

inline bool is_on_device(const Local& local) {
  return find(local.data, local.n, local.type).on_device;
}

struct AccessShadows {
  Places places;
  std::vector<HostShadow> made;
};
AccessShadows shadows_of(const Access& access);

inline void* writable(const void* data) { return const_cast<void*>(data); }  // NOLINT: as it was

// `call(places)`: the call of the MPI library. `request`: of the forms that have one, or null.
template <typename Call>
int accessed(const Access& access, MPI_Request* request, const Call& call) {
  const Places given{access.data.data, access.in.data, access.expected.data};
  const Remote& there = access.there;
  Window* const window = known_window(there.window);
  if (window != nullptr && window->has_on_device(there.rank)) {
    const Guard guard;
    const int code = access_device(*window, access, request == nullptr ? Done::kLater : Done::kNow);
    return code == MPI_SUCCESS && request != nullptr ? completed_request(request) : code;
  }
  const bool on_device =
      is_on_device(access.data) || is_on_device(access.in) || is_on_device(access.expected);
  if (!on_device || there.rank == MPI_PROC_NULL) return call(given);
  AccessShadows shadows;
  {
    const Guard guard;
    shadows = shadows_of(access);
  }
  const int code = call(shadows.places);
  if (code != MPI_SUCCESS) return code;
  const Guard guard;
  const auto shared = std::make_shared<std::vector<HostShadow>>(std::move(shadows.made));
  hold_window(there.window).hold(there.rank, shared);
  // The end of the epoch, or a flush, may come first.
  if (request != nullptr) keep_access(shared, *request);
  return code;
}

}  // namespace nearpeak::layer
