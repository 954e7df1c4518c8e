// SPDX-License-Identifier: Apache-2.0
#include "app/halo_cells.hpp"

namespace nearpeak {

std::vector<HaloMessage> halo_messages(const HaloBlock& block, bool each_field) {
  const auto ways = block.directions();
  const std::int64_t together = each_field ? 1 : block.fields;
  const auto parts = static_cast<std::size_t>(block.fields / together);
  std::vector<HaloMessage> messages;
  for (std::size_t i = 0; i < ways.size(); ++i)
    for (std::size_t part = 0; part < parts; ++part)
      messages.push_back({.way = ways[i],
                          .peer = block.neighbour(ways[i]),
                          .first_field = static_cast<std::int64_t>(part) * together,
                          .fields = together,
                          .cells = together * product(block.outgoing(ways[i]).count),
                          .other = (ways.size() - 1 - i) * parts + part});
  return messages;
}

std::size_t MessageBuffers::bytes_of_all(const std::vector<std::size_t>& bytes) {
  std::size_t all = 0;
  for (const std::size_t message : bytes)
    all += PiecesOfMemory::rounded(SlotBuffer::stride(message));
  return all;
}

MessageBuffers::MessageBuffers(const CaseContext& context, const std::vector<std::size_t>& bytes)
    : memory_(context.memory, bytes_of_all(bytes), context.offset) {
  for (const std::size_t message : bytes) buffers_.emplace_back(memory_, message, 1);
}

}  // namespace nearpeak
