// SPDX-License-Identifier: Apache-2.0
// Memory that the application has mapped in chunks, as PyTorch's expandable segments: what this
// process shows others of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "accel/accelerator.hpp"
#include "layer/copy/chunk_table.hpp"
#include "layer/copy/exported.hpp"

namespace nearpeak::layer {

// What is asked about addresses.
struct ChunkQuestions {
  std::function<std::uint64_t(const void* at)> allocation_at;  // its number; 0: not on a device
  std::function<Located(const void* at)> locate;
  std::function<ChunkSharing*(int device)> sharing;
};

// Keeps the file descriptors of chunks, as to make one takes more than half a millisecond.
class ShownChunks {
 public:
  // While it is there, others may read what they were told of chunks.
  using Kept = std::shared_ptr<const void>;

  explicit ShownChunks(ChunkQuestions questions) : ask_(std::move(questions)) {}
  ~ShownChunks();
  ShownChunks(const ShownChunks&) = delete;
  ShownChunks& operator=(const ShownChunks&) = delete;

  // Where others are told, and how many files may be open for that; before, nothing is shown.
  void begin(ChunkTable& table, std::size_t most);
  // All chunks from that of `data` on, as far as so many bytes go. Nothing where one of them is not
  // for other processes, or so many have no room. `known`: a place that was asked for already.
  // `gone(allocation)`: of chunks that are shown no more.
  using Gone = std::function<void(std::uint64_t allocation)>;
  std::optional<Exported> show(const Located& known, const void* data, std::size_t bytes,
                               Kept& kept, const Gone& gone);
  // Gives up those of the next few that are not there any more.
  void look_for_freed(std::size_t few, const Gone& gone);
  std::size_t size() const { return chunks_.size(); }
  void clear() { chunks_.clear(); }

 private:
  class Chunk;
  using Places = std::vector<std::uint32_t>;
  using Chunks = std::map<std::uint64_t, std::shared_ptr<Chunk>>;  // by allocation

  std::shared_ptr<Chunk> shown(const void* at, std::uint64_t allocation, const Gone& gone);
  bool make_room(const Gone& gone);

  ChunkQuestions ask_;
  ChunkTable* table_ = nullptr;
  std::size_t most_ = 0;
  std::shared_ptr<Places> free_ = std::make_shared<Places>();  // in the table
  Chunks chunks_;
  std::uint64_t looked_ = 0;  // the last of them that was looked for
  std::uint64_t uses_ = 0;
};

}  // namespace nearpeak::layer
