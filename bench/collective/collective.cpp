// SPDX-License-Identifier: Apache-2.0
#include "collective/collective.hpp"

namespace nearpeak {
namespace {

constexpr const char* kCalls = "calls";

}  // namespace

Way way_of(const CaseContext& context) {
  const std::string& calls = context.axis(kCalls);
  if (calls == "blocking") return Way::kBlocking;
  return calls == "persistent" ? Way::kPersistent : Way::kNonblocking;
}

Axis calls_of_collectives() {
  return {kCalls,
          {"blocking", "nonblocking", "persistent"},
          "blocking: the call; nonblocking: begun, then waited for; persistent: set up before "
          "(MPI 4)"};
}

}  // namespace nearpeak
