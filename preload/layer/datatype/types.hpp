// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "accel/layout.hpp"
#include "calls/real.hpp"

namespace nearpeak::layer {

// Bytes from the start of an element on that belong to it.
struct Run {
  MPI_Aint offset;
  std::size_t bytes;
};
using Runs = std::vector<Run>;

// Where elements lie, in bytes from the start of the first on.
struct Span {
  MPI_Aint low = 0;
  MPI_Aint high = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(high - low); }
};

struct Type {
  MPI_Count bytes = 0;
  MPI_Count extent = 0;
  Span span;           // of one
  bool dense = false;  // any number of them lies in memory as it is packed, from the start on
};

const Type& type_of(MPI_Datatype type);
// MPI_Type_commit. From the first type on whose elements do not lie behind each other from the
// buffer on, types stray: the buffer's address alone does not say where they are.
int commit_type(MPI_Datatype* type);
bool types_stray();
// MPI_Type_free: nothing is known of its handle any more.
int free_type(MPI_Datatype* type);
// Whether this thread is in that, so that nothing can be made of the type.
bool is_being_freed(MPI_Datatype type);

// Throws std::runtime_error for a type that spans more than 1 GiB.
std::shared_ptr<const Runs> runs_of(MPI_Datatype type);
// Where n elements lie, if that is regular.
std::optional<Layout> layout_of(MPI_Count n, MPI_Datatype type);
Span span_of(MPI_Count n, MPI_Datatype type);

// Of a receive, in bytes.
inline std::size_t room_of(MPI_Count n, MPI_Datatype type) {
  return n <= 0 ? 0 : static_cast<std::size_t>(n * type_of(type).bytes);
}

// n elements of a type, as calls take them whose counts are of int.
class Elements {
 public:
  Elements(MPI_Count n, MPI_Datatype type);
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  ~Elements();

  int n() const { return n_; }
  MPI_Datatype type() const { return type_; }

 private:
  int n_;
  MPI_Datatype type_;
  bool made_ = false;
};

// By which communicator convert() and unpack() go: that of this rank alone.
void convert_through(MPI_Comm own);
// Elements of one type in host memory go where those of another are.
void convert(const void* from, MPI_Count n, MPI_Datatype type, void* to, MPI_Count m,
             MPI_Datatype as);
// Puts packed data where a receive of n of a type would have put it.
void unpack(const void* packed, std::size_t bytes, void* data, MPI_Count n, MPI_Datatype type);

}  // namespace nearpeak::layer
