// SPDX-License-Identifier: Apache-2.0
// What a rank does in a collective whose ranks, all on one node, read each other's memory of
// devices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "accel/reducer.hpp"
#include "layer/collective/circle.hpp"
#include "layer/world/seat.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

enum Collective : std::uint8_t {
  kAllreduce = 1,
  kReduce,
  kReduceScatterBlock,
  kBcast,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kGatherv,
  kScatterv,
  kAllgatherv,
  kAlltoallv,
  kReduceScatter,
};

// A buffer of this rank, where it has one in this collective, and whether others read there.
struct Own {
  const void* at = nullptr;
  Found found;
  bool shown = false;
  std::uint64_t bytes = 0;  // where others read; 0: as in the longest buffer
  Located place;

  char* data() const { return static_cast<char*>(const_cast<void*>(at)); }  // NOLINT: as it is used
};

// What is one rank's of a buffer.
struct Share {
  std::int64_t place;  // in bytes
  std::uint64_t bytes;
};

// Of data and in, what keeps them where others read, and a copy of what others cannot open.
struct ShownBuffers {
  std::array<ShownChunks::Kept, 2> kept;
  std::array<Scratch, 2> copies;
};

struct Exchange {
  Offer offer;
  std::uint64_t all_bytes = 0;  // in the longest buffer
  Own data;
  Own in;
  std::optional<Combination> reduction;
  bool reduces = false;                   // this rank
  bool keeps = false;                     // what this rank gives itself is in its place
  std::vector<Share> given{};             // of its data, if others cannot know them
  std::vector<Share> shares{};            // of what is received, where they are not equal
  std::shared_ptr<ShownBuffers> shown{};  // null: both are as they are

  // Where this rank writes what others read then.
  char* in_at() const {
    const bool copied = shown && shown->copies[1];
    return copied ? shown->copies[1].data() : in.data();
  }
};

// Makes the exchange of the rank `own` of `size`. Nothing if these buffers or types are not done.
using Wanted = std::function<std::optional<Exchange>(std::size_t size, std::size_t own)>;

// Whether this rank can do its part of a collective of this number, by what it knows alone; then
// the offer says where its memory is. Who calls holds the guard, as for the next two.
bool is_ready(Circle& circle, std::uint64_t number, Exchange& exchange);
// Whether all ranks open each other's memory; not where some have not said so yet, without waiting.
bool all_reach(Circle& circle);
// Says whether this rank opens the memory of all others, which all accept envelopes.
void say_reach(Circle& circle);

// Ends what this rank shows: the collective is `done`, or the MPI library does it.
void end_exchange(Exchange& exchange, bool done);

// Whether all of the offers are of the same collective.
bool all_fit(const std::vector<Offer>& all);

// A step of a collective that all have agreed to do directly, from 1 on. All ranks have done it
// before one begins the next; behind the last one, no other rank reads this one's memory any more.
void do_step(Circle& circle, std::uint64_t number, const std::vector<Offer>& all,
             const Exchange& exchange, unsigned step);
unsigned steps_of(const std::vector<Offer>& all);

}  // namespace nearpeak::layer
