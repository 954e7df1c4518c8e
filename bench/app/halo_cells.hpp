// SPDX-License-Identifier: Apache-2.0
// The cells of a block in memory, and messages that they are packed into.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/halo_block.hpp"
#include "benchmark/benchmark.hpp"

namespace nearpeak {

// What goes to one neighbour and comes from it: some fields, one behind the other.
struct HaloMessage {
  Direction way;
  int peer;
  std::int64_t first_field;
  std::int64_t fields;
  std::int64_t cells;  // of all these fields
  std::size_t other;   // the number of the message by which the neighbour there answers
};
// One for each neighbour, or for each and each field.
std::vector<HaloMessage> halo_messages(const HaloBlock& block, bool each_field);

// One allocation, handed out piece by piece, so that one kernel reaches all pieces. It gives pieces
// back when it ends.
class PiecesOfMemory final : public ForwardingMemory {
 public:
  static constexpr std::size_t kAlign = 256;
  static std::size_t rounded(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

  // The first piece begins `offset` bytes after the allocation.
  PiecesOfMemory(Memory& memory, std::size_t bytes, std::size_t offset)
      : ForwardingMemory(memory),
        base_(static_cast<char*>(memory.allocate(bytes + offset))),
        used_(offset) {}
  ~PiecesOfMemory() override { memory_.release(base_); }
  PiecesOfMemory(const PiecesOfMemory&) = delete;
  PiecesOfMemory& operator=(const PiecesOfMemory&) = delete;

  char* base() const { return base_; }
  void* allocate(std::size_t bytes) override {
    char* const piece = base_ + used_;
    used_ += rounded(bytes);
    return piece;
  }
  void release(void*) override {}

 private:
  char* const base_;
  std::size_t used_;
};

// A buffer for each of some messages.
class MessageBuffers {
 public:
  MessageBuffers(const CaseContext& context, const std::vector<std::size_t>& bytes);
  static std::size_t bytes_of_all(const std::vector<std::size_t>& bytes);

  char* base() const { return memory_.base(); }
  SlotBuffer& operator[](std::size_t message) { return buffers_[message]; }
  const SlotBuffer& operator[](std::size_t message) const { return buffers_[message]; }
  // Bytes from the base.
  std::size_t start(std::size_t message) const {
    return static_cast<std::size_t>(buffers_[message].slot(0) - base());
  }

 private:
  PiecesOfMemory memory_;
  std::deque<SlotBuffer> buffers_;  // which cannot be moved
};

// Packed messages are all that neighbours are sent, and all that they have sent.
struct PackedHalo {
  PackedHalo(const CaseContext& context, const std::vector<std::size_t>& bytes)
      : out(context, bytes), in(context, bytes) {}
  MessageBuffers out;
  MessageBuffers in;
};

class HaloCells {
 public:
  virtual ~HaloCells() = default;

  virtual char* data() const = 0;  // of the array of all fields
  // Both are done when they return. `at_once`: all messages in one pass, not one after the other.
  virtual void pack(PackedHalo& packed, bool at_once) = 0;
  virtual void unpack(PackedHalo& packed, bool at_once) = 0;

  // Cells that neighbours are sent have their value of a round, the halo is poisoned; with
  // Part::kAll all other cells have theirs too.
  virtual void set(std::uint64_t round, Part part) = 0;
  // The first cell that is not as the block has it after an exchange: its number in the array. With
  // Part::kStamps cells inside are not looked at.
  virtual std::optional<std::int64_t> find_wrong(std::uint64_t round, Part part) const = 0;
  virtual double value_at(std::int64_t number) const = 0;
};

// In memory of the context's kind; packed by whoever computes there. `packed` may be null where
// nothing is packed. Throw Unfit, std::bad_alloc and the accelerator's errors.
std::unique_ptr<HaloCells> halo_cells_on_host(const CaseContext& context, const HaloBlock& block,
                                              const std::vector<HaloMessage>& messages,
                                              const std::string& type);
std::unique_ptr<HaloCells> halo_cells_on_device(const CaseContext& context, const HaloBlock& block,
                                                const std::vector<HaloMessage>& messages,
                                                const std::string& type, const PackedHalo* packed);

}  // namespace nearpeak
