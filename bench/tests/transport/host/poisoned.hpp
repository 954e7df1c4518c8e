// SPDX-License-Identifier: Apache-2.0
// A transport of the mode `pair` that does something bad.
#pragma once

#include <functional>

#include "programs/native/pair.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"
#include "transport/host/pull.hpp"

inline nearpeak::ModeOptions short_pair(const std::string& sizes, const RecordFile& file) {
  nearpeak::ModeOptions options;
  options.common = short_run(sizes, file.path());
  options.cpus = rank_cpus();
  return options;
}

// Called with the place that a message is to come to, its bytes and its number, from 1: whether it
// is to be copied there.
using Poison = std::function<bool(const nearpeak::HostEnd&, char*, std::size_t, std::uint64_t)>;

struct PoisonedPull {
  nearpeak::Mapped mapped;
  nearpeak::HostEnd end;
  Poison poison;
  mutable std::uint64_t number = 0;

  void take(char* to, std::size_t slot, std::size_t bytes) const {
    if (poison(end, to, bytes, ++number)) mapped.take(to, slot, bytes);
  }
};

inline nearpeak::HostMethod poisoned(const Poison& poison) {
  using namespace nearpeak;
  return {.name = "poisoned",
          .applies = [](const Messages&) { return true; },
          .make =
              [poison](const HostEnd& end) {
                const CopyFunction copy = copy_kinds().front().copy;
                return std::make_unique<PullTransport<PoisonedPull>>(
                    end, PoisonedPull{{end.peer.out.data(), end.stride, copy}, end, poison});
              },
          .shared_out = true};
}

inline nearpeak::HostMethod host_method(const std::string& name) {
  for (const auto& method : nearpeak::host_methods())
    if (method.name == name) return method;
  throw std::runtime_error("no method " + name);
}
