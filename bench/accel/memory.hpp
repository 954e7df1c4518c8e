// SPDX-License-Identifier: Apache-2.0
// Where payloads live: allocation, filling and verifying of one kind of memory.
// One folder per backend; the host is the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "payload/pattern.hpp"

namespace nearpeak {

// The functions of payload/pattern.hpp, on whatever the memory is.
class Memory {
 public:
  virtual ~Memory() = default;
  // Page-aligned memory, or, on a device, as its driver aligns it (256 bytes at least); throws
  // std::bad_alloc.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) = 0;
  virtual void poison(void* base, const SlotLayout& layout, std::uint64_t seed) = 0;
  virtual std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                                const Payload& payload, Part part) = 0;
  // Copies between this memory and the CPU's own.
  virtual void to_host(void* host, const void* from, std::size_t bytes) = 0;
  virtual void from_host(void* to, const void* host, std::size_t bytes) = 0;
};

// Memory that the CPU reaches: it fills and verifies there itself.
class HostReachable : public Memory {
 public:
  void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) final {
    nearpeak::fill(base, layout, payload, part);
  }
  void poison(void* base, const SlotLayout& layout, std::uint64_t seed) final {
    nearpeak::poison(base, layout, seed);
  }
  std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                        const Payload& payload, Part part) final {
    return nearpeak::find_mismatch(base, layout, payload, part);
  }
  void to_host(void* host, const void* from, std::size_t bytes) final;
  void from_host(void* to, const void* host, std::size_t bytes) final;
};

// Memory whose payloads another one makes and looks at.
class ForwardingMemory : public Memory {
 public:
  explicit ForwardingMemory(Memory& memory) : memory_(memory) {}
  void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) override {
    memory_.fill(base, layout, payload, part);
  }
  void poison(void* base, const SlotLayout& layout, std::uint64_t seed) override {
    memory_.poison(base, layout, seed);
  }
  std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                        const Payload& payload, Part part) override {
    return memory_.find_mismatch(base, layout, payload, part);
  }
  void to_host(void* host, const void* from, std::size_t bytes) override {
    memory_.to_host(host, from, bytes);
  }
  void from_host(void* to, const void* host, std::size_t bytes) override {
    memory_.from_host(to, host, bytes);
  }

 protected:
  Memory& memory_;
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
  char* slot(std::size_t index) const { return base_ + index * layout_.stride; }
  const SlotLayout& layout() const { return layout_; }
  Memory& memory() const { return memory_; }

  // Of `count` slots from `first` on, or of all that follow: slot i has the same payload whichever
  // of them is filled or looked at.
  static constexpr std::size_t kRest = ~std::size_t{0};
  void fill(const Payload& payload, Part part = Part::kAll, std::size_t first = 0,
            std::size_t count = kRest);
  void poison(std::uint64_t seed, std::size_t first = 0, std::size_t count = kRest);
  std::optional<Mismatch> find_mismatch(const Payload& payload, Part part = Part::kAll,
                                        std::size_t first = 0, std::size_t count = kRest) const;

 private:
  SlotLayout part_of(std::size_t first, std::size_t count) const;

  Memory& memory_;
  SlotLayout layout_;
  std::size_t offset_;
  char* base_;
};

}  // namespace nearpeak
