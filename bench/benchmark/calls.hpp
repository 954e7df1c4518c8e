// SPDX-License-Identifier: Apache-2.0
// The axis of the ways to call MPI. Persistent requests are a transport's affair (mpi/methods.cpp):
// the benchmark calls it as with nonblocking ones.
#pragma once

#include "benchmark/benchmark.hpp"

namespace nearpeak {

inline constexpr const char* kCalls = "calls";
inline constexpr const char* kBlocking = "blocking";
inline constexpr const char* kPersistent = "persistent";
inline bool calls_are(const CaseContext& context, const std::string& way) {
  const auto calls = context.axes.find(kCalls);
  return calls != context.axes.end() && calls->second == way;
}

}  // namespace nearpeak
