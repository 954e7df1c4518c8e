// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/opened_chunks.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "accel/abandoned.hpp"

namespace nearpeak::layer {
namespace {

// Addresses are many, and cost nothing before something is mapped there: so many at a time, which
// begin at a multiple of that, take in all that a device has.
constexpr std::uint64_t kMirror = std::uint64_t{1} << 38;

[[noreturn]] void throw_wrong_chunks() {
  throw std::out_of_range("another rank names chunks of memory that it does not have");
}

// `what(given)` of each of the chunks, which lie one behind the other; until one is false.
template <typename What>
bool each_chunk(const ChunkTable& table, const Exported& exported, const What& what) {
  std::uint64_t at = exported.base;
  std::uint64_t left = exported.bytes;
  std::uint32_t place = exported.first_chunk;
  for (std::uint32_t i = 0; i < exported.chunks; ++i) {
    if (place >= ChunkTable::kMost) throw_wrong_chunks();
    const GivenChunk given = table.chunks[place];  // read once: another rank writes it
    if (given.base != at || given.bytes == 0 || given.bytes > left) throw_wrong_chunks();
    if (!what(given)) return false;
    at += given.bytes;
    left -= given.bytes;
    place = given.after;
  }
  if (left > 0) throw_wrong_chunks();
  return true;
}

}  // namespace

OpenedChunks::Mirror* OpenedChunks::mirror_of(int device, std::uint32_t rank,
                                              const Exported& exported) {
  for (Mirror& mirror : mirrors_)
    if (mirror.device == device && mirror.rank == rank && exported.base >= mirror.begin &&
        exported.base < mirror.end && exported.bytes <= mirror.end - exported.base)
      return &mirror;
  return nullptr;
}

OpenedChunks::Mirror& OpenedChunks::new_mirror(Device& device, std::uint32_t rank,
                                               const Exported& exported) {
  const std::uint64_t begin = exported.base / kMirror * kMirror;
  const std::uint64_t wanted = exported.base - begin + exported.bytes;
  if (exported.bytes > kMirror || exported.base > ~std::uint64_t{0} - 2 * kMirror)
    throw_wrong_chunks();
  const std::uint64_t bytes = (wanted + kMirror - 1) / kMirror * kMirror;
  mirrors_.push_front({device.info().index,
                       rank,
                       begin,
                       begin + bytes,
                       device.chunk_sharing()->reserve(bytes),
                       {}});
  return mirrors_.front();
}

char* OpenedChunks::find(int device, std::uint32_t rank, const ChunkTable& table,
                         const Exported& exported, std::uint64_t uses) {
  Mirror* const mirror = mirror_of(device, rank, exported);
  if (mirror == nullptr) return nullptr;
  const bool all = each_chunk(table, exported, [&](const GivenChunk& given) {
    const auto known = mirror->chunks.find(given.base);
    if (known == mirror->chunks.end() || known->second.allocation != given.allocation) return false;
    known->second.last = uses;
    return true;
  });
  return all ? mirror->at(exported.base) : nullptr;
}

char* OpenedChunks::open(Device& device, std::uint32_t rank, const ChunkOwner& owner,
                         const Exported& exported, std::uint64_t uses, const Limit& limit) {
  if (owner.table == nullptr || device.chunk_sharing() == nullptr) throw_wrong_chunks();
  const int index = device.info().index;
  Mirror* const known = mirror_of(index, rank, exported);
  Mirror& mirror = known != nullptr ? *known : new_mirror(device, rank, exported);
  each_chunk(*owner.table, exported, [&](const GivenChunk& given) {
    const auto found = mirror.chunks.find(given.base);
    if (found == mirror.chunks.end() || found->second.allocation != given.allocation) {
      make_room(index, given.bytes, limit);
      map(mirror, owner, given);
    }
    mirror.chunks.at(given.base).last = uses;
    return true;
  });
  return mirror.at(exported.base);
}

void OpenedChunks::map(Mirror& mirror, const ChunkOwner& owner, const GivenChunk& given) {
  // Where it lies now nothing else can be.
  close_if(mirror, [&](std::uint64_t base, const Chunk& chunk) {
    return base < given.base + given.bytes && given.base < base + chunk.bytes;
  });
  const File file = owner.process->file(given.file);
  if (!file)
    throw std::system_error(errno, std::generic_category(),
                            "the file of another rank's memory cannot be taken");
  auto memory = mirror.addresses->map(given.base - mirror.begin, file.number(), given.bytes);
  mirror.chunks[given.base] = {given.allocation, given.bytes, std::move(memory), 0};
}

void OpenedChunks::make_room(int device, std::uint64_t bytes, const Limit& limit) {
  for (const Mirror& mirror : mirrors_)
    if (mirror.device == device)
      for (const auto& [_, chunk] : mirror.chunks) bytes += chunk.bytes;
  if (bytes <= limit.most) return;
  for (Mirror& mirror : mirrors_)
    if (mirror.device == device)
      close_if(mirror,
               [&](std::uint64_t, const Chunk& chunk) { return chunk.last < limit.recent; });
}

template <typename Which>
void OpenedChunks::close_if(Mirror& mirror, const Which& which) {
  bool awaited = false;
  for (auto each = mirror.chunks.begin(); each != mirror.chunks.end();) {
    const bool closes = which(each->first, each->second);
    if (closes && !std::exchange(awaited, true)) await_();
    each = closes ? mirror.chunks.erase(each) : std::next(each);
  }
}

void OpenedChunks::close(std::uint32_t rank, std::uint64_t allocation) {
  for (Mirror& mirror : mirrors_)
    if (mirror.rank == rank)
      close_if(mirror,
               [=](std::uint64_t, const Chunk& chunk) { return chunk.allocation == allocation; });
}

void OpenedChunks::close(std::uint32_t rank, const Exported& exported) {
  for (Mirror& mirror : mirrors_)
    if (mirror.rank == rank)
      close_if(mirror, [&](std::uint64_t base, const Chunk&) {
        return base >= exported.base && base - exported.base < exported.bytes;
      });
}

void OpenedChunks::close_not_used(std::uint32_t rank, std::uint64_t since) {
  for (Mirror& mirror : mirrors_)
    if (mirror.rank == rank)
      close_if(mirror, [=](std::uint64_t, const Chunk& chunk) { return chunk.last <= since; });
}

void OpenedChunks::abandon_all_of(int device) {
  for (Mirror& mirror : mirrors_) {
    if (mirror.device != device) continue;
    for (auto& [_, chunk] : mirror.chunks) abandon(chunk.memory);
    abandon(mirror.addresses);
  }
  mirrors_.remove_if([](const Mirror& mirror) { return mirror.addresses == nullptr; });
}

}  // namespace nearpeak::layer
