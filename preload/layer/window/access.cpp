// SPDX-License-Identifier: Apache-2.0
#include "layer/window/access.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "calls/handles.hpp"
#include "layer/datatype/contents.hpp"
#include "layer/datatype/types.hpp"
#include "layer/protocol/opening.hpp"
#include "layer/protocol/own_request.hpp"

namespace nearpeak::layer {
namespace {

// Elements in memory that this rank reaches.
struct Side {
  char* data;
  MPI_Count n;
  MPI_Datatype type;
  bool on_device = false;
  Located place{};
};

// Operations that do not combine: the others are done by the MPI library.
bool replaces(MPI_Op op) {
#ifdef OMPI_MAJOR_VERSION
  static const auto found = calls::handle<MPI_Op>("ompi_mpi_op_replace");
  return op == found;
#else
  return op == MPI_REPLACE;
#endif
}
bool leaves(MPI_Op op) {
#ifdef OMPI_MAJOR_VERSION
  static const auto found = calls::handle<MPI_Op>("ompi_mpi_op_no_op");
  return op == found;
#else
  return op == MPI_NO_OP;
#endif
}

Side side_of(const Local& local) {
  Side side{static_cast<char*>(writable(local.data)), local.n, local.type};
  const Found found = find(local.data, local.n, local.type);
  side.on_device = found.on_device;
  if (!found.on_device) return side;
  side.place = world.devices.locate(found);
  accept_envelopes(side.place.device);
  return side;
}

std::size_t length_of(const Side& side) { return room_of(side.n, side.type); }

// n elements of `as`, one behind the other, in host memory.
HostMemory gathered(const Side& side, MPI_Count n, MPI_Datatype as) {
  HostMemory out = host_memory_of(static_cast<std::size_t>(n * type_of(as).extent));
  if (type_of(side.type).dense && type_of(as).dense) {
    if (side.on_device)
      world.devices.copy_to_host(side.place, out.get(), side.data, length_of(side));
    else
      std::memcpy(out.get(), side.data, length_of(side));
  } else if (side.on_device) {
    HostShadow shadow(world.devices, side.data, side.place, {{0, side.n, side.type}}, Use::kRead);
    shadow.fill();
    convert(shadow.data(), side.n, side.type, out.get(), n, as);
  } else {
    convert(side.data, side.n, side.type, out.get(), n, as);
  }
  return out;
}

// The other way.
void scatter(const char* from, MPI_Count n, MPI_Datatype as, const Side& side) {
  if (type_of(side.type).dense && type_of(as).dense) {
    if (side.on_device)
      world.devices.copy_to_device(side.place, side.data, from, length_of(side));
    else
      std::memcpy(side.data, from, length_of(side));
  } else if (side.on_device) {
    HostShadow shadow(world.devices, side.data, side.place, {{0, side.n, side.type}}, Use::kWrite);
    convert(from, n, as, shadow.data(), side.n, side.type);
    shadow.write_back();
  } else {
    convert(from, n, as, side.data, side.n, side.type);
  }
}

// By kernels, where they do it: elements with gaps, both on devices.
bool copy_apart(const Side& to, const Side& from) {
  const bool apart = !type_of(from.type).dense;
  const Side& gaps = apart ? from : to;
  // What a short copy brings to the host is not worth a kernel's launch.
  if (!to.on_device || !from.on_device ||
      span_of(gaps.n, gaps.type).bytes() <= CopyMailbox::kStaged)
    return false;
  Scratch packed;
  const char* data = from.data;
  Located place = from.place;
  if (apart) {
    const auto layout = layout_of(from.n, from.type);
    if (layout) packed = world.devices.pack(from.place, *layout, from.data);
    if (!packed) return false;
    data = packed.data();
    place = packed.place();
  }
  const std::size_t bytes = length_of(from);
  if (type_of(to.type).dense) {
    world.devices.copy_between_devices(to.place, to.data, place, data, bytes);
    return true;
  }
  const auto layout = layout_of(to.n, to.type);
  return layout && world.devices.unpack(to.place, *layout, to.data, place, data, bytes);
}

// One of both is on a device.
void copy(const Side& to, const Side& from, Done when) {
  const std::size_t bytes = length_of(from);
  const bool one_copy =
      !to.on_device || !from.on_device || Devices::is_one_copy(to.place, from.place);
  if (!one_copy || !type_of(to.type).dense || !type_of(from.type).dense) {
    if (one_copy && copy_apart(to, from)) return;
    const auto n = static_cast<MPI_Count>(bytes);
    const HostMemory packed = gathered(from, n, calls::byte_type());
    scatter(packed.get(), n, calls::byte_type(), to);
  } else if (!to.on_device) {
    world.devices.copy_to_host(from.place, to.data, from.data, bytes);
  } else if (!from.on_device) {
    world.devices.copy_to_device(to.place, to.data, from.data, bytes);
  } else if (when == Done::kLater && bytes > Devices::kShort) {
    world.devices.begin_copy_between_devices(to.place, to.data, from.data, bytes);
  } else {
    world.devices.copy_between_devices(to.place, to.data, from.place, from.data, bytes);
  }
}

// The numbers that a type is made of, which are of one kind in an access that combines.
MPI_Datatype numbers_of(MPI_Datatype type) {
  const Contents contents(type);
  return contents.of.empty() ? type : numbers_of(contents.of[0]);
}

// Of any number of them.
void reduce(const char* own, char* were, MPI_Count n, MPI_Datatype number, MPI_Op op) {
  constexpr MPI_Count kMost = MPI_Count{1} << 30;
  const MPI_Count extent = type_of(number).extent;
  for (MPI_Count i = 0; i < n; i += kMost) NEARPEAK_REAL(MPI_Reduce_local)
  (own + i * extent, were + i * extent, static_cast<int>(std::min(kMost, n - i)), number, op);
}

void combine(const Access& access, const Side& there) {
  const MPI_Datatype number = numbers_of(there.type);
  const MPI_Count size = type_of(number).bytes;
  const MPI_Count n = size > 0 ? static_cast<MPI_Count>(length_of(there)) / size : 0;
  HostMemory were = gathered(there, n, number);
  if (access.in.n > 0) scatter(were.get(), n, number, side_of(access.in));
  if (leaves(access.op)) return;
  HostMemory own = gathered(side_of(access.data), n, number);
  if (replaces(access.op))
    std::swap(were, own);
  else
    reduce(own.get(), were.get(), n, number, access.op);
  scatter(were.get(), n, number, there);
}

void compare_and_swap(const Access& access, const Side& there) {
  const std::size_t bytes = length_of(there);
  const MPI_Datatype type = there.type;
  const HostMemory expected = gathered(side_of(access.expected), 1, type);
  const HostMemory was = gathered(there, 1, type);
  if (std::memcmp(was.get(), expected.get(), bytes) == 0)
    scatter(gathered(side_of(access.data), 1, type).get(), 1, type, there);
  scatter(was.get(), 1, type, side_of(access.in));
}

}  // namespace

int access_device(Window& window, const Access& access, Done when) {
  const Remote& remote = access.there;
  const Span span = span_of(remote.n, remote.type);
  if (span.bytes() == 0) return MPI_SUCCESS;
  const Window::Part& part = window.part(remote.rank);
  const MPI_Count offset = remote.place * part.unit;
  if (offset + span.low < 0 || offset + span.high > part.bytes) {
    NEARPEAK_REAL(MPI_Win_call_errhandler)(remote.window, MPI_ERR_RMA_RANGE);
    return MPI_ERR_RMA_RANGE;
  }
  const Window::There at = window.reach(remote.rank);
  const Side there{at.base + offset, remote.n, remote.type, true, at.place};
  ++world.counts.window_accesses;
  if (access.form == Form::kPut) {
    copy(there, side_of(access.data), when);
  } else if (access.form == Form::kGet) {
    copy(side_of(access.in), there, when);
  } else {
    const Combining alone(area_of(part.rank).header());
    if (access.form == Form::kAccumulate)
      combine(access, there);
    else
      compare_and_swap(access, there);
  }
  return MPI_SUCCESS;
}

int completed_request(MPI_Request* request) {
  const int code = start_own_request(nullptr, request);
  if (code == MPI_SUCCESS) complete_own_request(*request);
  return code;
}

AccessShadows shadows_of(const Access& access) {
  AccessShadows shadows{};
  const auto shadow = [&](std::size_t at, const Local& local, Use use) {
    shadows.places[at] = local.data;
    const Found found = find(local.data, local.n, local.type);
    if (!found.on_device) return;
    const Located place = world.devices.locate(found);
    accept_envelopes(place.device);
    shadows.made.emplace_back(world.devices, local.data, place,
                              std::vector<Part>{{0, local.n, local.type}}, use);
    if (use != Use::kWrite) shadows.made.back().fill();
    shadows.places[at] = shadows.made.back().data();
  };
  shadow(0, access.data, Use::kRead);
  shadow(1, access.in, Use::kWrite);
  shadow(2, access.expected, Use::kRead);
  ++world.counts.shadowed_calls;
  return shadows;
}

}  // namespace nearpeak::layer
