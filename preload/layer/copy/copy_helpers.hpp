// SPDX-License-Identifier: Apache-2.0
// Threads that copy together with the one that has bytes to copy. They call neither the driver nor
// MPI, and take no signals. One thread at a time shares its copies.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace nearpeak::layer {

class CopyHelpers {
 public:
  using Copy = std::function<void(std::size_t offset, std::size_t bytes)>;

  // Fewer where the system gives no more threads.
  explicit CopyHelpers(std::size_t threads);
  ~CopyHelpers();
  CopyHelpers(const CopyHelpers&) = delete;
  CopyHelpers& operator=(const CopyHelpers&) = delete;

  // Has `copy` called for parts of these bytes by several threads at once, or for all of them where
  // they are few. Returns when all are copied; throws what one of the calls has thrown. A helper
  // that has no CPU to begin on is not waited for.
  void share(std::size_t bytes, const Copy& copy);

 private:
  class Helper;
  std::vector<std::unique_ptr<Helper>> helpers_;
};

}  // namespace nearpeak::layer
