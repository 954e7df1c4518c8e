// SPDX-License-Identifier: Apache-2.0
// Whether the buffers of all ranks fit into the memory that they share: said before any is touched,
// as the kernel would end some process later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "group/group.hpp"

namespace nearpeak {

// What a rank is about to take, and what there is left.
struct MemoryNeed {
  std::uint64_t shared;  // the same for all ranks of a host, or of a device
  std::uint64_t bytes;
  std::uint64_t available;
};

// Bytes that programs of this host can still have; the most where the kernel does not say.
std::uint64_t available_memory();

std::uint64_t host_hash();  // of this machine, the same in all of its containers

// Why it does not fit into the given share of what is available; empty where it does. `owner`: what
// has the memory, "host".
std::string why_too_much(const std::vector<MemoryNeed>& ranks, const std::string& owner,
                         double share);

// The same for `bytes` of host memory of every rank. Collective; known to all.
std::string why_too_much(Group& group, std::uint64_t bytes);

}  // namespace nearpeak
