// SPDX-License-Identifier: Apache-2.0
// What every kind of group does, as each of its members sees it.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "group/group.hpp"

// Empty, or what was wrong.
inline std::string why_no_group(nearpeak::Group& group, int size) {
  const int rank = group.rank();
  if (group.size() != size || group.leads() != (rank == 0)) return "rank and size";
  for (int i = 0; i < 200; ++i) {
    if (group.broadcast(rank == 0 ? i : -1) != i) return "broadcast";
    const auto all = group.gather(1000 * i + rank);
    for (int other = 0; other < size; ++other)
      if (all[static_cast<std::size_t>(other)] != 1000 * i + other) return "gather";
    group.barrier();
  }
  // More than a mailbox holds.
  for (const std::size_t count : {1u, 1023u, 1024u, 1025u, 5000u}) {
    std::vector<double> mine(count);
    std::iota(mine.begin(), mine.end(), 1e6 * rank);
    const auto all = group.gather(mine);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] != 1e6 * static_cast<double>(i / count) + static_cast<double>(i % count))
        return "gather in pieces";
    group.broadcast(mine.data(), count * sizeof(double));
    if (mine.back() != static_cast<double>(count - 1)) return "broadcast in pieces";
  }
  const auto texts = group.gather(std::string(static_cast<std::size_t>(rank) * 5000, 'x'));
  for (int other = 0; other < size; ++other)
    if (texts[static_cast<std::size_t>(other)].size() != static_cast<std::size_t>(other) * 5000)
      return "texts";
  if (group.everywhere(rank != 1) || !group.everywhere(true)) return "everywhere";
  const std::string reason = rank == 0 ? "" : "of " + std::to_string(rank);
  if (group.first_reason(reason) != "of 1" || !group.first_reason("").empty())
    return "first reason";
  return "";
}
