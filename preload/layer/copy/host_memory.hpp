// SPDX-License-Identifier: Apache-2.0
// Host memory for messages. Long pieces are kept at their end and used again, as fresh pages cost
// more than the copy into them (benchmarks/recorded/layer-host-memory-h200.txt).
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

namespace nearpeak::layer {

// Locks memory for messages where several threads may take it and give it back. Else it does
// nothing: a lock has two atomic steps, and each message would have two locks.
class MemoryLock {
 public:
  // Until this is called, several threads may.
  static void expect(bool several_threads) { several = several_threads; }

  explicit MemoryLock(std::mutex& mutex) : mutex_(several ? &mutex : nullptr) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  ~MemoryLock() {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  MemoryLock(const MemoryLock&) = delete;
  MemoryLock& operator=(const MemoryLock&) = delete;

 private:
  static inline bool several = true;
  std::mutex* mutex_;
};

// Who gives memory out that is a part of its own.
class Lender {
 public:
  virtual void give_back(const char* memory) = 0;

 protected:
  ~Lender() = default;
};

// Gives memory back; `bytes` is its length.
struct GiveBack {
  std::size_t bytes = 0;
  Lender* lender = nullptr;  // none: it is memory by itself
  void operator()(char* memory) const;
};
using HostMemory = std::unique_ptr<char, GiveBack>;

constexpr std::size_t kLeastKept = 4096;  // bytes; malloc keeps shorter ones
constexpr std::size_t kLeastLong = std::size_t{512} << 10;
// The limits of all long pieces, and of all short ones.
constexpr std::size_t kMostKept = std::size_t{1} << 30;  // bytes
constexpr std::size_t kPiecesKept = 256;

// Takes at least this many bytes, which are not written. Throws std::bad_alloc.
HostMemory host_memory_of(std::size_t bytes);

// Pieces that are kept and that nobody has.
std::size_t pieces_kept();

}  // namespace nearpeak::layer
