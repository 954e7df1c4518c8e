// SPDX-License-Identifier: Apache-2.0
// Packs and unpacks what lies regularly in memory that kernels of a device reach.
#pragma once

#include <cstdint>
#include <memory>

#include "accel/accelerator.hpp"
#include "accel/layout.hpp"

namespace nearpeak {

class BlockMover {
 public:
  // Throws as Kernels::persistent_copy() does, by which it is compiled.
  explicit BlockMover(Device& device);

  // Whether it moves what lies so: at most four levels, and less than 4 GiB.
  static bool takes(const Layout& layout);
  // The first `bytes` of what is packed. They are there then.
  void pack(void* packed, const Layout& layout, const void* data, std::uint64_t bytes);
  void unpack(const Layout& layout, void* data, const void* packed, std::uint64_t bytes);
  // What lies alike at both.
  void copy(const Layout& layout, void* to, const void* from);

 private:
  enum class Packed { kTarget, kSource, kNeither };
  void move(const Layout& layout, void* to, const void* from, std::uint64_t bytes, Packed packed);

  std::unique_ptr<Program> program_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
  std::uint64_t most_blocks_;
};

}  // namespace nearpeak
