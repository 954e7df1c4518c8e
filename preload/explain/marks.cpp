// SPDX-License-Identifier: Apache-2.0
// What the measuring program calls (marks/marks.hpp).
#include <sched.h>
#include <sys/resource.h>

#include "explain/cuda.hpp"
#include "explain/events.hpp"
#include "explain/sampling.hpp"

namespace nearpeak::explain {
namespace {

std::uint64_t ns(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_usec) * 1'000U;
}

void count() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  const std::uint64_t now = now_ns();
  const auto put = [now](Counter counter, auto value) {
    add(Kind::kCounter, counter, now, now, static_cast<std::uint64_t>(value));
  };
  put(kMinorFaults, used.ru_minflt);
  put(kMajorFaults, used.ru_majflt);
  put(kVoluntarySwitches, used.ru_nvcsw);
  put(kInvoluntarySwitches, used.ru_nivcsw);
  put(kUserNs, ns(used.ru_utime));
  put(kSystemNs, ns(used.ru_stime));
}

}  // namespace
}  // namespace nearpeak::explain

// `what`: a Mark. Counters are read outside of what it marks, and where the thread is not looked
// at, which takes time in the kernel.
extern "C" __attribute__((visibility("default"))) void nearpeak_explain_mark(int what,
                                                                             std::uint64_t number,
                                                                             int rank, int ranks) {
  using namespace nearpeak::explain;
  if (what == kOwnBegins || what == kOwnEnds) return own_work(what == kOwnBegins);
  if (what <= kBegins && prepare(rank, ranks))
    costs(cost_ns(call_driver), cost_ns([] { sched_yield(); }));
  if (what == kPrepares) return;
  if (what == kBegins) begin();
  if (!recording()) return;
  if (what == kBegins && !looks_at_sample()) count();
  const std::uint64_t now = now_ns();
  add(Kind::kMark, static_cast<std::uint16_t>(what), now, now, number);
  if (what != kEnds) return;
  if (!ends_sample()) count();
  name_samples();
}
