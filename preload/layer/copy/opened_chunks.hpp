// SPDX-License-Identifier: Apache-2.0
// Memory that applications of other ranks have mapped in chunks, as this process has it open.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "accel/accelerator.hpp"
#include "layer/copy/chunk_table.hpp"
#include "layer/copy/exported.hpp"

namespace nearpeak::layer {

// Chunks lie to each other here as they do there: what is one piece there is one piece here,
// whichever chunks it is in, and each is opened once.
class OpenedChunks {
 public:
  // `await` is called before any is closed: until then copies may be under way.
  explicit OpenedChunks(std::function<void()> await) : await_(std::move(await)) {}

  // Where the first of these chunks of a rank is, opened by a device; null where not all are open.
  // `uses` grows from one call to the next.
  char* find(int device, std::uint32_t rank, const ChunkTable& table, const Exported& exported,
             std::uint64_t uses);
  // The same; opens those that are not. More than `most` bytes stay open where all were used since
  // `recent`.
  struct Limit {
    std::uint64_t most;
    std::uint64_t recent;
  };
  char* open(Device& device, std::uint32_t rank, const ChunkOwner& owner, const Exported& exported,
             std::uint64_t uses, const Limit& limit);
  void close(std::uint32_t rank, std::uint64_t allocation);
  void close(std::uint32_t rank, const Exported& exported);
  // Those that were not used since then, by `uses`.
  void close_not_used(std::uint32_t rank, std::uint64_t since);
  // Of a device that was reset nothing may be destroyed.
  void abandon_all_of(int device);
  void clear() { mirrors_.clear(); }
  // `what(rank)` of ranks whose chunks may be open.
  template <typename What>
  void each_rank(const What& what) const {
    for (const Mirror& mirror : mirrors_) what(mirror.rank);
  }

 private:
  struct Chunk {
    std::uint64_t allocation = 0;
    std::uint64_t bytes = 0;
    std::unique_ptr<OpenedMemory> memory;
    std::uint64_t last = 0;  // its use
  };
  // By the addresses of their owner.
  using Chunks = std::map<std::uint64_t, Chunk>;
  // Addresses in the place of some of a rank's.
  struct Mirror {
    int device;
    std::uint32_t rank;
    std::uint64_t begin;
    std::uint64_t end;
    std::unique_ptr<ReservedAddresses> addresses;
    Chunks chunks;

    char* at(std::uint64_t address) const {
      return static_cast<char*>(addresses->data()) + (address - begin);
    }
  };

  Mirror* mirror_of(int device, std::uint32_t rank, const Exported& exported);
  Mirror& new_mirror(Device& device, std::uint32_t rank, const Exported& exported);
  void map(Mirror& mirror, const ChunkOwner& owner, const GivenChunk& given);
  void make_room(int device, std::uint64_t bytes, const Limit& limit);
  template <typename Which>
  void close_if(Mirror& mirror, const Which& which);

  std::function<void()> await_;
  std::list<Mirror> mirrors_;
};

}  // namespace nearpeak::layer
