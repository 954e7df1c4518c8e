// SPDX-License-Identifier: Apache-2.0
// What was counted on the links of all ranks between two readings. The first rank of a machine
// reads its adapters and the GPUs of all its ranks: NVML takes longer where several processes ask
// it at once. A GPU that it does not see, as in another container, is read by the first rank that
// has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/source.hpp"
#include "group/group.hpp"

namespace nearpeak {

struct RankLink {
  int rank;  // that reads it
  CountedLink link;
};

struct RankUnread {
  int rank;  // the first of those with the same reason
  Unread unread;
};

struct CountedLinks {
  struct OnLink {
    std::size_t link;  // of Counters::links()
    LinkBytes bytes;
    bool at_least;  // its counter may have wrapped without being seen
  };
  double seconds = 0;  // from one reading to the next
  // Of the second, and of the glances before it, on the rank where they took longest.
  double reading_us = 0;
  std::vector<OnLink> on = {};         // those on which anything was counted
  std::vector<std::size_t> lost = {};  // links that cannot be read any more
};

class Counters {
 public:
  // `scope`: of this rank's GPU. Collective, as everything but glance().
  Counters(Group& group, const CounterScope& scope);

  const std::vector<RankLink>& links() const { return links_; }
  const std::vector<RankUnread>& unread() const { return unread_; }
  double opening_us() const { return opening_us_; }  // longest of the ranks
  // Seconds in which the first of all counters may wrap; nothing where none does. The same on all
  // ranks.
  std::optional<double> wraps_s() const;

  // What has been counted since the reading before; on the leader. The first one counts nothing.
  CountedLinks read();
  // Reads the counters of this rank that wrap, if it is time for them.
  void glance();

 private:
  struct Own {
    CounterSource* source;
    std::size_t index;  // of its links
    std::optional<LinkBytes> last = {};
    LinkBytes since = {};
    std::int64_t last_ns = 0;
    bool at_least = false;
    bool lost = false;  // for good
  };
  void open(const CounterScope& scope);
  // `scope`: of a GPU alone; `own`: of this rank.
  void open_gpu(const CounterScope& scope, bool own);
  void take(CounterSource& source, bool wrapping);

  Group& group_;
  OpenedSources opened_;
  std::vector<Own> own_;  // links of this rank
  std::vector<RankLink> links_;
  std::vector<RankUnread> unread_;
  std::size_t most_ = 0;  // links of any rank
  double opening_us_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t glances_ns_ = 0;  // spent since the last reading
};

}  // namespace nearpeak
