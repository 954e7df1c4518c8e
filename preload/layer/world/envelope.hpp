// SPDX-License-Identifier: Apache-2.0
// What is sent in the place of a message: who has it, and where it says more (slots.hpp).
#pragma once

#include <cstdint>
#include <cstring>

#include "layer/copy/key.hpp"

namespace nearpeak::layer {

using Nonce = Key;  // of one run of an application

// Messages of numbers do not have this length: a probe that meets it looks closer, and what is
// received in vain is rare.
#pragma pack(push, 1)
struct Envelope {
  Nonce nonce;
  std::uint32_t rank;    // of the sender in MPI_COMM_WORLD
  std::uint32_t slot;    // its index there,
  std::uint64_t number;  // and which of its uses
  std::uint64_t bytes;   // of the message
  // Where that is in parts (parts.hpp): how many bytes each has, and their tag.
  std::uint32_t step;
  std::uint32_t tag;
  unsigned char unused[13];
};
#pragma pack(pop)
constexpr std::size_t kEnvelopeBytes = 61;
constexpr std::uint32_t kInParts = ~std::uint32_t{0};  // in the place of a slot
static_assert(sizeof(Envelope) == kEnvelopeBytes);

inline bool begins_as_envelope(const void* data, const Nonce& nonce) {
  return std::memcmp(data, nonce.data(), nonce.size()) == 0;
}

inline Envelope envelope_at(const void* data) {
  Envelope envelope;
  std::memcpy(&envelope, data, sizeof(envelope));
  return envelope;
}

}  // namespace nearpeak::layer
