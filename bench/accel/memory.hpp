// SPDX-License-Identifier: Apache-2.0
// Where payloads live: allocation, filling and verifying of one kind of memory.
// One folder per backend; the host is the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "payload/pattern.hpp"

namespace nearpeak {

class Memory {
 public:
  virtual ~Memory() = default;
  // Page-aligned memory, or, on a device, as its driver aligns it (256 bytes at least); throws
  // std::bad_alloc.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void fill_pattern(void* target, std::size_t bytes, std::uint64_t seed) = 0;
  virtual void fill_inverse(void* target, std::size_t bytes, std::uint64_t seed) = 0;
  virtual std::optional<Mismatch> find_mismatch(const void* data, std::size_t bytes,
                                                std::uint64_t seed) = 0;
};

// Memory that the CPU reaches: it fills and verifies there itself.
class HostReachable : public Memory {
 public:
  void fill_pattern(void* target, std::size_t bytes, std::uint64_t seed) final {
    nearpeak::fill_pattern(target, bytes, seed);
  }
  void fill_inverse(void* target, std::size_t bytes, std::uint64_t seed) final {
    nearpeak::fill_inverse(target, bytes, seed);
  }
  std::optional<Mismatch> find_mismatch(const void* data, std::size_t bytes,
                                        std::uint64_t seed) final {
    return nearpeak::find_mismatch(data, bytes, seed);
  }
};

Memory& host_memory();

// Equal slots of `bytes` each, one message a slot, in one allocation. A slot is whole cache lines,
// so that neighbours never share one. The first begins `offset` bytes after a page boundary.
class SlotBuffer {
 public:
  SlotBuffer(Memory& memory, std::size_t bytes, std::size_t slots, std::size_t offset = 0);
  ~SlotBuffer() { memory_.release(base_ - offset_); }
  SlotBuffer(const SlotBuffer&) = delete;
  SlotBuffer& operator=(const SlotBuffer&) = delete;

  // Bytes from one slot to the next.
  static std::size_t stride(std::size_t bytes);
  char* slot(std::size_t index) const { return base_ + index * stride_; }

  // Slot i is filled with the pattern of seed + i << 32.
  void fill_pattern(std::uint64_t seed);
  void fill_inverse(std::uint64_t seed);
  std::optional<Mismatch> find_mismatch(std::uint64_t seed) const;

 private:
  Memory& memory_;
  std::size_t bytes_;
  std::size_t stride_;
  std::size_t slots_;
  std::size_t offset_;
  char* base_;
};

}  // namespace nearpeak
