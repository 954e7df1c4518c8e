// SPDX-License-Identifier: Apache-2.0
// What applications have in common where kernels do their work.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"

namespace nearpeak {

// So many threads, or a few more; in blocks of `of_block`.
inline LaunchShape threads_for(std::uint64_t work, std::uint64_t most = 1ULL << 31,
                               unsigned of_block = 256) {
  const std::uint64_t threads = std::clamp<std::uint64_t>(work, 1, most);
  return {.blocks = static_cast<unsigned>((threads + of_block - 1) / of_block),
          .threads = of_block};
}

// Portable source (accel/kernels/kernels.hpp), compiled. Throws AcceleratorError, not what one rank
// alone could not say to the others.
inline Program& kernels_of(Device& device, const std::string& source) {
  if (const std::string why = why_no_kernels(device); !why.empty())
    throw AcceleratorError("an application on a device needs kernels there: " + why);
  return device.kernels()->portable(source);
}

// Threads that look for something in about so many places, each of which says the first place where
// it is, or all ones.
class SearchThreads {
 public:
  SearchThreads(Device& device, std::uint64_t places)
      : shape_(threads_for(places, 65536)),
        found_(device.memory(BufferKind::kDevice), count() * sizeof(std::uint64_t), 1) {}

  LaunchShape shape() const { return shape_; }
  void* found() const { return found_.slot(0); }
  // Of all of them, once they are done.
  std::optional<std::uint64_t> first() const {
    std::vector<std::uint64_t> all(count());
    found_.memory().to_host(all.data(), found(), all.size() * sizeof(std::uint64_t));
    const std::uint64_t least = *std::min_element(all.begin(), all.end());
    if (least == ~std::uint64_t{0}) return std::nullopt;
    return least;
  }

 private:
  std::size_t count() const { return std::size_t{shape_.blocks} * shape_.threads; }

  const LaunchShape shape_;
  SlotBuffer found_;
};

}  // namespace nearpeak
