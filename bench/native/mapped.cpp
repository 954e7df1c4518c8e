// SPDX-License-Identifier: Apache-2.0
// The sender's slots are in memory that both have mapped, and the receiver copies once: what XPMEM
// gives an MPI library whose user has just written what is sent.
#include "native/copy.hpp"
#include "native/pull.hpp"

namespace nearpeak {
namespace {

// More than the private caches of any core hold. Below, a receiver that copies the same bytes again
// would find them in its own caches, and nothing would cross the path.
constexpr std::size_t kBeyondPrivateCaches = std::size_t{4} << 20;
constexpr std::size_t kLine = 64;

struct MappedPull {
  char* own_slots;
  const char* peer_slots;
  std::size_t stride;
  std::size_t bytes;
  bool renew;  // whether the sender writes into every line before it is taken
  CopyFunction copy;

  void offer(std::size_t slot) const {
    if (!renew) return;
    volatile char* const begin = own_slots + slot * stride;
    for (std::size_t i = 0; i < bytes; i += kLine) begin[i] = begin[i];
  }
  void take(char* to, std::size_t slot) const { copy(to, peer_slots + slot * stride, bytes); }
};

MappedPull pull_of(const PairEnd& end, CopyFunction copy) {
  const Exchange& exchange = end.exchange;
  return {end.memory.out[exchange.rank].data(),
          end.memory.out[exchange.peer()].data(),
          end.stride,
          exchange.bytes,
          end.stride * exchange.slots() <= kBeyondPrivateCaches,
          copy};
}

const std::vector<RegisterPairMethod> entries = [] {
  std::vector<RegisterPairMethod> out;
  for (const CopyKind& kind : copy_kinds()) {
    const bool first = kind.name == "memcpy";
    out.emplace_back(PairMethod{
        first ? "mapped" : "mapped-" + kind.name, kind.smallest, ~std::size_t{0}, no_inbox,
        always_available, [copy = kind.copy](const PairEnd& end) -> std::unique_ptr<Transfer> {
          return std::make_unique<PullTransfer<MappedPull>>(end, pull_of(end, copy));
        }});
  }
  return out;
}();

}  // namespace
}  // namespace nearpeak
