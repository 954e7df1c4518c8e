// SPDX-License-Identifier: Apache-2.0
// The sender's slots are in memory that both have mapped, and the receiver copies once: what XPMEM
// gives an MPI library.
#include "native/copy.hpp"
#include "native/pull.hpp"

namespace nearpeak {
namespace {

struct MappedPull {
  const char* slots;
  std::size_t stride;
  std::size_t bytes;
  CopyFunction copy;
  void operator()(char* to, std::size_t slot) const { copy(to, slots + slot * stride, bytes); }
};

const std::vector<RegisterPairMethod> entries = [] {
  std::vector<RegisterPairMethod> out;
  for (const CopyKind& kind : copy_kinds()) {
    const bool first = kind.name == "memcpy";
    out.emplace_back(PairMethod{
        first ? "mapped" : "mapped-" + kind.name, kind.smallest, ~std::size_t{0}, no_inbox,
        always_available, [copy = kind.copy](const PairEnd& end) -> std::unique_ptr<Transfer> {
          return std::make_unique<PullTransfer<MappedPull>>(
              end, MappedPull{end.peer_shared_out, end.stride, end.exchange.bytes, copy});
        }});
  }
  return out;
}();

}  // namespace
}  // namespace nearpeak
