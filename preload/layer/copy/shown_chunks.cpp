// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/shown_chunks.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace nearpeak::layer {
namespace {

constexpr std::size_t kLooks = 16;

// A process that is forked would keep the memory of what its parent frees.
namespace forks {

const ChunkTable* shown = nullptr;
std::array<std::int32_t, ChunkTable::kMost> files;

void before() {
  files.fill(-1);
  if (shown == nullptr) return;
  for (std::size_t i = 0; i < files.size(); ++i) files[i] = shown->chunks[i].file;
}
void in_child() {
  for (const std::int32_t file : files)
    if (file >= 0) close(file);
}
void watch(const ChunkTable& table) {
  [[maybe_unused]] static const int once = pthread_atfork(before, nullptr, in_child);
  shown = &table;
}
void forget(const ChunkTable* table) {
  if (shown == table) shown = nullptr;
}

}  // namespace forks
}  // namespace

ShownChunks::~ShownChunks() { forks::forget(table_); }

// It has a place in the table, where others may read of it, until its end.
class ShownChunks::Chunk {
 public:
  Chunk(ChunkTable& table, std::shared_ptr<Places> free, std::uint32_t place,
        const GivenChunk& given)
      : free_(std::move(free)), place_(place), given_(table.chunks.at(place)) {
    given_ = given;
  }
  ~Chunk() {
    close_file();
    free_->push_back(place_);
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  // Its memory is not free before.
  void close_file() {
    if (given_.file >= 0) close(std::exchange(given_.file, -1));
  }
  std::uint32_t place() const { return place_; }
  const GivenChunk& given() const { return given_; }
  void lead_to(const Chunk& other) {
    if (given_.after != other.place_) given_.after = other.place_;
  }

  std::uint64_t last = 0;  // its use

 private:
  std::shared_ptr<Places> free_;
  std::uint32_t place_;
  GivenChunk& given_;
};

void ShownChunks::begin(ChunkTable& table, std::size_t most) {
  table_ = &table;
  forks::watch(table);
  most_ = std::min<std::size_t>(most, ChunkTable::kMost);
  for (std::uint32_t i = ChunkTable::kMost; i > 0; --i) free_->push_back(i - 1);
}

std::optional<Exported> ShownChunks::show(const Located& known, const void* data, std::size_t bytes,
                                          Kept& kept, const Gone& gone) {
  if (table_ == nullptr) return std::nullopt;
  ++uses_;
  std::vector<std::shared_ptr<Chunk>> all;
  Exported exported;
  const auto* at = static_cast<const char*>(data);
  const char* const end = at + std::max<std::size_t>(bytes, 1);
  const auto* const base = static_cast<const char*>(known.base);
  while (at < end) {
    const bool is_known = at >= base && at < base + known.bytes;
    const std::uint64_t allocation = is_known ? known.allocation : ask_.allocation_at(at);
    std::shared_ptr<Chunk> chunk = shown(at, allocation, gone);
    if (!chunk) return std::nullopt;
    chunk->last = uses_;
    const GivenChunk& given = chunk->given();
    if (all.empty()) exported.base = given.base;
    exported.bytes += given.bytes;
    at = reinterpret_cast<const char*>(given.base + given.bytes);
    if (!all.empty()) all.back()->lead_to(*chunk);
    all.push_back(std::move(chunk));
  }
  exported.first_chunk = all.front()->place();
  exported.chunks = static_cast<std::uint32_t>(all.size());
  if (all.size() == 1)
    kept = std::move(all.front());
  else
    kept = std::make_shared<const std::vector<std::shared_ptr<Chunk>>>(std::move(all));
  return exported;
}

std::shared_ptr<ShownChunks::Chunk> ShownChunks::shown(const void* at, std::uint64_t allocation,
                                                       const Gone& gone) {
  if (allocation == 0) return nullptr;
  if (const auto known = chunks_.find(allocation); known != chunks_.end()) return known->second;
  const Located place = ask_.locate(at);
  ChunkSharing* const sharing = ask_.sharing(place.device);
  if (!place.is_chunk || sharing == nullptr) return nullptr;
  look_for_freed(kLooks, gone);  // before memory is kept that others took the place of
  if (!make_room(gone)) return nullptr;
  GivenChunk given{.allocation = place.allocation,
                   .base = reinterpret_cast<std::uint64_t>(place.base),
                   .bytes = place.bytes};
  try {
    given.file = sharing->file_of(place.base);
  } catch (const AcceleratorError&) {  // of a pool, which is shared in another way
    return nullptr;
  }
  fcntl(given.file, F_SETFD, FD_CLOEXEC);  // another program would keep its memory
  const std::uint32_t index = free_->back();
  free_->pop_back();
  const auto chunk = std::make_shared<Chunk>(*table_, free_, index, given);
  chunks_[place.allocation] = chunk;
  return chunk;
}

// In the place of that which nobody reads and which was not shown for longest.
bool ShownChunks::make_room(const Gone& gone) {
  if (chunks_.size() < most_ && !free_->empty()) return true;
  auto oldest = chunks_.end();
  for (auto each = chunks_.begin(); each != chunks_.end(); ++each)
    if (each->second.use_count() == 1 &&
        (oldest == chunks_.end() || each->second->last < oldest->second->last))
      oldest = each;
  if (oldest == chunks_.end()) return false;
  gone(oldest->first);
  chunks_.erase(oldest);
  return true;
}

void ShownChunks::look_for_freed(std::size_t few, const Gone& gone) {
  for (std::size_t i = std::min(few, chunks_.size()); i > 0; --i) {
    auto next = chunks_.upper_bound(looked_);
    if (next == chunks_.end()) next = chunks_.begin();
    looked_ = next->first;
    const auto* const base = reinterpret_cast<const void*>(next->second->given().base);
    if (ask_.allocation_at(base) == looked_) continue;
    next->second->close_file();
    chunks_.erase(next);
    gone(looked_);
  }
}

}  // namespace nearpeak::layer
