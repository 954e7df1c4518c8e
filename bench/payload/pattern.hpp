// SPDX-License-Identifier: Apache-2.0
// Payloads whose every byte depends on its place and on a seed, so that lost, moved, repeated or
// foreign bytes are all seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace nearpeak {

// Slots of `bytes` each, `stride` bytes from one to the next. Behind each, up to the next one (the
// gap), nothing is to be written.
struct SlotLayout {
  std::size_t bytes;
  std::size_t stride;
  std::size_t count;
};

// What a sender has in its slots. Slot i has the words of seed + (i << 32); some of them, one in
// every 4 KiB, the first and the last among them, also depend on the round (the stamps), so that
// the payload of another round costs little to make and a message that was left out is seen.
struct Payload {
  std::uint64_t seed;
  std::uint64_t round = 0;
};

// Which words are written or looked at: all of them, or the stamps.
enum class Part { kAll, kStamps };

// Where the bytes are not what they should be: the first such slot, and the first byte there, which
// lies in the gap where it is not below SlotLayout::bytes.
struct Mismatch {
  std::size_t slot;
  std::size_t byte;
  unsigned expected;
  unsigned got;
  std::size_t whole = 0;  // bytes of the slot, where they are not those of a message
  bool between = false;   // it lies between blocks of the message: nothing was to be written there
  // No byte is wrong: this rank left an operation that moves no data before another came to it.
  bool left_early = false;
};

// A piece of slot 0 of what a sender has: `bytes` from byte `from` on, of `whole` in the slot.
struct Slice {
  Payload payload;
  std::size_t whole;
  std::size_t from;
  std::size_t bytes;
};

// Host memory. Gaps are left alone.
void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part = Part::kAll);
// The inverse of the words of round 0 in the slots and their gaps, so that a message that never
// came is seen, and so is one that came into a gap.
void poison(void* base, const SlotLayout& layout, std::uint64_t seed);
// Of slots that were poisoned with this seed and have then received the payload: with Part::kAll
// the gaps are looked at too.
std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                      const Payload& payload, Part part = Part::kAll);

// The first byte of a piece in host memory that is not as its sender has it; counted from `data`.
std::optional<Mismatch> find_mismatch(const void* data, const Slice& slice);

// What is not as poison() left it behind the bytes of slot `index`, of which what begins at byte
// `from` is at `data`: no later than the gap does.
std::optional<Mismatch> find_in_gap(const void* data, const SlotLayout& layout, std::uint64_t seed,
                                    std::size_t index = 0, std::size_t from = 0);

// What a slot adds to the seed of its buffer.
inline std::uint64_t slot_seed(std::size_t index) {
  return static_cast<std::uint64_t>(index) << 32;
}

// The word at `index` (in words of 8 bytes) of a slot, as the CPU stores it; what kernels on
// devices compute too. Gaps have the inverse.
std::uint64_t payload_word(const Payload& payload, std::size_t slot, std::size_t index,
                           std::size_t bytes);

}  // namespace nearpeak
