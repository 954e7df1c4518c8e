// SPDX-License-Identifier: Apache-2.0
// What applications write that do not leave packing to MPI: blocks gathered into one message, and
// scattered again, by a kernel where the memory is a device's, else by a loop.
#pragma once

#include <memory>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// A block of a message: where it lies in its buffer.
struct Piece {
  std::size_t offset;
  std::size_t bytes;
};

std::size_t bytes_of(const std::vector<Piece>& pieces);
// From the start of the buffer to the end of the last one.
std::size_t extent_of(const std::vector<Piece>& pieces);
// The same with one piece where several lie one behind the other, none of more than `most` bytes.
std::vector<Piece> joined(const std::vector<Piece>& pieces, std::size_t most);

// Both return when the bytes are in their place.
class Packer {
 public:
  virtual ~Packer() = default;
  virtual void pack(char* packed, const char* data) = 0;
  virtual void unpack(char* data, const char* packed) = 0;
};

// Of memory as the context's. Throws AcceleratorError where kernels cannot run on its device.
std::unique_ptr<Packer> make_packer(const CaseContext& context, const std::vector<Piece>& pieces);

}  // namespace nearpeak
