// SPDX-License-Identifier: Apache-2.0
// Collectives, and calls within a rank, with buffers on devices: the MPI library is given shadows
// of them in host memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "layer/copy/host_shadow.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// What a call does with a buffer; without parts, nothing.
struct Needed {
  Use use = Use::kRead;
  std::vector<Part> parts;
};

// The ranks that a rank exchanges data with in a communicator: those of the other group, where it
// has two.
class Peers {
 public:
  explicit Peers(MPI_Comm comm);

  int count() const { return count_; }
  int own_count() const { return own_count_; }  // of its own group
  int rank() const { return rank_; }
  // Whether it is the root, which has what goes to, or comes from, all.
  bool is_root(int root) const { return two_groups_ ? root == MPI_ROOT : root == rank_; }
  // Whether it is one of those all.
  bool is_leaf(int root) const { return !two_groups_ || root >= 0; }

 private:
  bool two_groups_ = false;
  int count_ = 0;
  int own_count_ = 0;
  int rank_ = 0;
};

// Those that it exchanges data with in a topology.
class Neighbours {
 public:
  explicit Neighbours(MPI_Comm comm);

  int from() const { return from_; }
  int to() const { return to_; }

 private:
  int from_ = 0;
  int to_ = 0;
};

inline bool is_in_place(const void* data) { return data == MPI_IN_PLACE; }
inline Found find(const void* data) {
  return is_in_place(data) ? Found{} : world.devices.find(data);
}
// Where the elements of parts of a buffer are.
Found find(const void* buffer, const std::vector<Part>& parts);

inline Needed nothing() { return {}; }
inline Needed reads(std::vector<Part> parts) { return {Use::kRead, std::move(parts)}; }
inline Needed reads(MPI_Count n, MPI_Datatype type) { return reads({{0, n, type}}); }
// `keeps`: a part of what is there is read, as in place, or is not written.
inline Needed writes(bool keeps, std::vector<Part> parts) {
  return {keeps ? Use::kReadWrite : Use::kWrite, std::move(parts)};
}
inline Needed writes(bool keeps, MPI_Count n, MPI_Datatype type) {
  return writes(keeps, {{0, n, type}});
}
// A part for each rank: so many elements, so many extents from the buffer on.
template <typename Count, typename Place>
std::vector<Part> parts(int ranks, const Count* n, const Place* places, MPI_Datatype type) {
  std::vector<Part> out;
  for (int i = 0; i < ranks; ++i) {
    const auto place = n[i] > 0 ? static_cast<MPI_Aint>(places[i] * type_of(type).extent) : 0;
    out.push_back({place, n[i], type});
  }
  return out;
}
// So many bytes.
template <typename Count, typename Place>
std::vector<Part> parts(int ranks, const Count* n, const Place* places, const MPI_Datatype* types) {
  std::vector<Part> out;
  for (int i = 0; i < ranks; ++i) out.push_back({static_cast<MPI_Aint>(places[i]), n[i], types[i]});
  return out;
}
template <typename Count>
MPI_Count sum(int ranks, const Count* n) {
  MPI_Count all = 0;
  for (int i = 0; i < ranks; ++i) all += n[i];
  return all;
}

// What a call gives, and where it receives. Null: there is none, or it is MPI_BOTTOM.
struct Buffers {
  const void* data;
  void* in;
};
// Where these are.
struct FoundBuffers {
  Found data;
  Found in;
  FoundBuffers(const Found& of_data, const Found& of_in) : data(of_data), in(of_in) {}
  // `needs()`: what the call does with them, and so where their elements are.
  template <typename Needs>
  FoundBuffers(const Buffers& buffers, const Needs& needs) {
    if (!types_stray() && buffers.data != nullptr && buffers.in != nullptr) {
      data = find(buffers.data);
      in = find(buffers.in);
      return;
    }
    const std::array<Needed, 2> needed = needs();
    data = find(buffers.data, needed[0].parts);
    in = find(buffers.in, needed[1].parts);
  }
  bool none_on_device() const { return !data.on_device && !in.on_device; }
};
struct HostShadows {
  Buffers buffers;
  std::vector<HostShadow> made;
};
// Host memory in the place of each that is on a device, and why.
HostShadows shadows_of(Buffers buffers, const FoundBuffers& found,
                       const std::array<Needed, 2>& needed);
// With what it reads.
void fill(HostShadows& shadows);
enum class Begun { kNow, kByStart };
// Of one that does not wait: its data is in its place when it is complete.
void keep_collective(Begun begun, std::vector<HostShadow> shadows, MPI_Comm comm,
                     MPI_Request request);
// Of an access to a window.
void keep_access(SharedShadows shadows, MPI_Request request);

// `needs()`: what it does with its buffers; `call(to)`: the call with others in their place.
template <typename Needs, typename Call>
int with_shadows(Buffers buffers, const FoundBuffers& found, const Needs& needs, const Call& call) {
  if (found.none_on_device()) return call(buffers);
  HostShadows shadows;
  {
    const Guard guard;
    shadows = shadows_of(buffers, found, needs());
    fill(shadows);
  }
  const int code = call(shadows.buffers);
  const Guard guard;
  if (code == MPI_SUCCESS)
    for (HostShadow& shadow : shadows.made) shadow.write_back();
  return code;
}

template <typename Needs, typename Call>
int with_shadows(Buffers buffers, const Needs& needs, const Call& call) {
  return with_shadows(buffers, FoundBuffers(buffers, needs), needs, call);
}

// The forms that do not wait: one that is begun, and a persistent one, which is only started later.
template <typename Needs, typename Call>
int with_shadows_later(Begun begun, Buffers buffers, const FoundBuffers& found, MPI_Comm comm,
                       MPI_Request* request, const Needs& needs, const Call& call) {
  if (found.none_on_device()) return call(buffers, request);
  HostShadows shadows;
  {
    const Guard guard;
    shadows = shadows_of(buffers, found, needs());
    if (begun == Begun::kNow) fill(shadows);
  }
  // Without the guard: making a persistent one may wait for other ranks.
  const int code = call(shadows.buffers, request);
  const Guard guard;
  if (code == MPI_SUCCESS) keep_collective(begun, std::move(shadows.made), comm, *request);
  return code;
}

// A rank packs n of a type into what it receives, from `place` on.
template <typename Count, typename Call>
int pack(Buffers buffers, MPI_Count n, MPI_Datatype type, MPI_Count bytes, const Count* place,
         const Call& call) {
  const auto needs = [&] { return std::array<Needed, 2>{reads(n, type), nothing()}; };
  const FoundBuffers found(buffers, needs);
  if (found.none_on_device()) return call(buffers);
  const Guard guard;
  const Count before = *place;
  HostShadows shadows = shadows_of({buffers.data, nullptr}, {found.data, {}}, needs());
  fill(shadows);
  if (!found.in.on_device) return call({shadows.buffers.data, buffers.in});
  const HostMemory packed = host_memory_of(static_cast<std::size_t>(std::max<MPI_Count>(bytes, 0)));
  const int code = call({shadows.buffers.data, packed.get()});
  if (code == MPI_SUCCESS)
    world.devices.copy_to_device(world.devices.locate(found.in),
                                 static_cast<char*>(buffers.in) + before, packed.get() + before,
                                 static_cast<std::size_t>(*place - before));
  return code;
}

// What unpacking does with its buffers, the packed one first.
inline auto unpacking(MPI_Count bytes, MPI_Count place, MPI_Count n, MPI_Datatype type) {
  return [=] {
    const std::vector<Part> packed{
        {static_cast<MPI_Aint>(place), std::max<MPI_Count>(bytes - place, 0), calls::byte_type()}};
    return std::array<Needed, 2>{reads(packed), writes(false, n, type)};
  };
}

}  // namespace nearpeak::layer
