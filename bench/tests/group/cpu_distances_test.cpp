// SPDX-License-Identifier: Apache-2.0
#include "group/cpu_distances.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <utility>

#include "tests/programs/native/quiet.hpp"

using namespace nearpeak;

namespace {

constexpr int kTries = 100;  // a busy machine may keep one of two processes waiting

// Another one, of which a rank is kept from its CPU for once.
class Interrupted final : public Group {
 public:
  Interrupted(Group& group, std::chrono::milliseconds off) : group_(group), off_(off) {}
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void barrier() override {
    group_.barrier();
    if (!leads()) std::this_thread::sleep_for(std::exchange(off_, {}));
  }
  void broadcast(void* data, std::size_t bytes) override { group_.broadcast(data, bytes); }
  void gather(const void* mine, std::size_t bytes, void* all) override {
    group_.gather(mine, bytes, all);
  }

 private:
  Group& group_;
  std::chrono::milliseconds off_;
};

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

TEST_CASE("a process that had no CPU for a while is asked again") {
  if (nearpeak::this_place(0).cpus.size() < 2) {
    MESSAGE("skipped: one CPU to run on");
    return;
  }
  CHECK(in_group(2, [](SharedGroup& group) {
          for (int i = 0; i < kTries; ++i) {
            Interrupted interrupted(group, std::chrono::milliseconds(30));
            if (CpuDistances(interrupted).measure()[0]) return kGood;
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
