// SPDX-License-Identifier: Apache-2.0
#include "payload/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace nearpeak {
namespace {

constexpr std::size_t kStampWords = 512;  // one word in so many is a stamp

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a good mix of a counter, a few cycles a word.
std::uint64_t mix(std::uint64_t value) {
  std::uint64_t z = value * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t plain_word(std::uint64_t seed, std::size_t index) { return mix(seed + index + 1); }

std::uint64_t slot_seed(std::uint64_t seed, std::size_t slot) {
  return seed + (static_cast<std::uint64_t>(slot) << 32);
}

// The words of one slot, the last of which may be cut short.
struct Words {
  std::uint64_t seed;
  std::uint64_t stamp;
  std::size_t bytes;

  Words(const Payload& payload, std::size_t slot, std::size_t size)
      : seed(slot_seed(payload.seed, slot)),
        stamp(payload.round == 0 ? 0 : mix(payload.round)),
        bytes(size) {}

  std::size_t count() const { return (bytes + 7) / 8; }
  std::size_t length(std::size_t index) const {
    return std::min<std::size_t>(8, bytes - 8 * index);
  }
  std::uint64_t at(std::size_t index) const {
    const bool stamped = index % kStampWords == 0 || index + 1 == count();
    return plain_word(seed, index) ^ (stamped ? stamp : 0);
  }
  template <class Use>
  void for_stamps(Use use) const {
    for (std::size_t i = 0; i < count(); i += kStampWords) use(i);
    if (count() > 1 && (count() - 1) % kStampWords != 0) use(count() - 1);
  }
};

std::optional<Mismatch> compare(const unsigned char* in, std::size_t slot, std::size_t byte,
                                std::uint64_t word, std::size_t length) {
  unsigned char expected[8];
  std::memcpy(expected, &word, 8);
  for (std::size_t i = 0; i < length; ++i)
    if (in[byte + i] != expected[i]) return Mismatch{slot, byte + i, expected[i], in[byte + i]};
  return std::nullopt;
}

std::optional<Mismatch> compare_all(const unsigned char* in, std::size_t slot, const Words& words) {
  // Blocks are compared without a branch for each word, so that the compiler uses vectors; they lie
  // between stamps.
  constexpr std::size_t kBlock = 64;
  const std::size_t whole = words.bytes / 8;
  std::size_t i = 0;
  while (i < words.count()) {
    const bool stamped = i % kStampWords == 0;
    const std::size_t to_stamp = kStampWords - i % kStampWords;
    if (stamped || i + kBlock >= whole || to_stamp < kBlock) {
      if (auto bad = compare(in, slot, 8 * i, words.at(i), words.length(i))) return bad;
      ++i;
      continue;
    }
    std::uint64_t difference = 0;
    for (std::size_t j = 0; j < kBlock; ++j) {
      std::uint64_t value = 0;
      std::memcpy(&value, in + 8 * (i + j), 8);
      difference |= value ^ plain_word(words.seed, i + j);
    }
    if (difference != 0)
      for (std::size_t j = 0; j < kBlock; ++j)
        if (auto bad = compare(in, slot, 8 * (i + j), words.at(i + j), 8)) return bad;
    i += kBlock;
  }
  return std::nullopt;
}

// What poison() leaves in a gap: the inverse of the words that the slot would have there.
std::uint64_t gap_word(std::uint64_t seed, std::size_t index) { return ~plain_word(seed, index); }

}  // namespace

std::uint64_t payload_word(const Payload& payload, std::size_t slot, std::size_t index,
                           std::size_t bytes) {
  if (8 * index >= bytes) return gap_word(slot_seed(payload.seed, slot), index);
  return Words(payload, slot, bytes).at(index);
}

void fill(void* base, const SlotLayout& layout, const Payload& payload, Part part) {
  for (std::size_t slot = 0; slot < layout.count; ++slot) {
    auto* out = static_cast<unsigned char*>(base) + slot * layout.stride;
    const Words words(payload, slot, layout.bytes);
    const auto put = [&](std::size_t index) {
      const std::uint64_t value = words.at(index);
      std::memcpy(out + 8 * index, &value, words.length(index));
    };
    if (part == Part::kAll) {
      const std::size_t whole = layout.bytes / 8;
      for (std::size_t i = 0; i < whole; ++i) {
        const std::uint64_t value = plain_word(words.seed, i);
        std::memcpy(out + 8 * i, &value, 8);
      }
    }
    words.for_stamps(put);
  }
}

void poison(void* base, const SlotLayout& layout, std::uint64_t seed) {
  for (std::size_t slot = 0; slot < layout.count; ++slot) {
    auto* out = static_cast<unsigned char*>(base) + slot * layout.stride;
    const std::uint64_t own = slot_seed(seed, slot);
    const std::size_t whole = layout.stride / 8;
    for (std::size_t i = 0; i < whole; ++i) {
      const std::uint64_t value = gap_word(own, i);
      std::memcpy(out + 8 * i, &value, 8);
    }
    const std::uint64_t last = gap_word(own, whole);
    std::memcpy(out + 8 * whole, &last, layout.stride % 8);
  }
}

std::optional<Mismatch> find_in_gap(const void* data, const SlotLayout& layout, std::uint64_t seed,
                                    std::size_t index, std::size_t from) {
  const auto* in = static_cast<const unsigned char*>(data);
  for (std::size_t byte = layout.bytes; byte < layout.stride; ++byte) {
    unsigned char expected[8];
    const std::uint64_t word = gap_word(seed + slot_seed(index), byte / 8);
    std::memcpy(expected, &word, 8);
    if (in[byte - from] != expected[byte % 8])
      return Mismatch{0, byte, expected[byte % 8], in[byte - from]};
  }
  return std::nullopt;
}

std::optional<Mismatch> find_mismatch(const void* data, const Slice& slice) {
  const auto* in = static_cast<const unsigned char*>(data);
  const Words words(slice.payload, 0, slice.whole);
  std::size_t done = 0;
  while (done < slice.bytes) {
    const std::size_t at = slice.from + done;
    const std::size_t skipped = at % 8;  // of a word that the piece begins within
    const std::size_t length = std::min(slice.bytes - done, 8 - skipped);
    unsigned char expected[8];
    const std::uint64_t word = words.at(at / 8);
    std::memcpy(expected, &word, 8);
    for (std::size_t i = 0; i < length; ++i)
      if (in[done + i] != expected[skipped + i])
        return Mismatch{0, done + i, expected[skipped + i], in[done + i]};
    done += length;
  }
  return std::nullopt;
}

std::optional<Mismatch> find_mismatch(const void* base, const SlotLayout& layout,
                                      const Payload& payload, Part part) {
  for (std::size_t slot = 0; slot < layout.count; ++slot) {
    const auto* in = static_cast<const unsigned char*>(base) + slot * layout.stride;
    const Words words(payload, slot, layout.bytes);
    std::optional<Mismatch> bad;
    if (part == Part::kStamps) {
      words.for_stamps([&](std::size_t index) {
        if (!bad) bad = compare(in, slot, 8 * index, words.at(index), words.length(index));
      });
    } else {
      bad = compare_all(in, slot, words);
      if (!bad) bad = find_in_gap(in, layout, words.seed);
      if (bad) bad->slot = slot;
    }
    if (bad) return bad;
  }
  return std::nullopt;
}

}  // namespace nearpeak
