// SPDX-License-Identifier: Apache-2.0
#include "group/cpu_distances.hpp"

#include <doctest/doctest.h>

#include "tests/programs/native/quiet.hpp"

using namespace nearpeak;

namespace {

constexpr int kTries = 100;  // a busy machine may keep one of two processes waiting

}  // namespace

TEST_CASE("two processes on CPUs of their own tell how far these are from each other") {
  if (nearpeak::this_place(0).cpus.size() < 2) {
    MESSAGE("skipped: one CPU to run on");
    return;
  }
  CHECK(in_group(2, [](SharedGroup& group) {
          for (int i = 0; i < kTries; ++i) {
            const auto found = CpuDistances(group).measure();
            if (found.size() != 1) return kFailed;
            if (found[0]) return kGood;  // of all members alike
          }
          return kFailed;
        }) == kGood);
}

TEST_CASE("any number of processes have a distance or none for each pair, all the same one") {
  for (const int size : {2, 3, 4}) {
    CHECK(in_group(size, [&](SharedGroup& group) {
            CpuDistances distances(group);
            for (int round = 0; round < 3; ++round) {
              const auto found = distances.measure();
              if (found.size() != static_cast<std::size_t>(size - 1)) return kFailed;
              for (const auto& ns : found) {
                if (ns && (*ns < 1 || *ns > 2e7)) return kFailed;
                if (group.broadcast(ns.value_or(0)) != ns.value_or(0)) return kFailed;
              }
            }
            return kGood;
          }) == kGood);
  }
}

TEST_CASE("one process alone is not far from anything") {
  Alone alone;
  CHECK(CpuDistances(alone).measure().empty());
}
