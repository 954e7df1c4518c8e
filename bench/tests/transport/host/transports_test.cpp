// SPDX-License-Identifier: Apache-2.0
// Every transport through memory, called in every way that it may be called.
#include <doctest/doctest.h>

#include "payload/pattern.hpp"
#include "tests/programs/native/quiet.hpp"
#include "transport/host/host.hpp"

using namespace nearpeak;

namespace {

// Messages of all these sizes, in this order, in one window: more than fit into the boxes of
// `flag` or the ring at once.
std::vector<std::size_t> mixed(std::size_t largest, std::size_t count) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t some[] = {largest, 0, 1, 65, largest, 7, largest / 2, 64, 8, 63};
    sizes.push_back(std::min(largest, some[i % std::size(some)]));
  }
  return sizes;
}

enum class Way { kOneWay, kBothWays, kBlocking, kExchange };

class End {
 public:
  End(const HostMethod& method, std::vector<HostMemory>& memories, SharedGroup& group,
      std::size_t largest, std::size_t count)
      : rank_(group.rank()),
        group_(group),
        sizes_(mixed(largest, count)),
        messages_{.bytes = largest,
                  .window = count,
                  .slots = count,
                  .sends = true,
                  .receives = true,
                  .rank = rank_,
                  .peer = 1 - rank_},
        own_(memories[static_cast<std::size_t>(rank_)]),
        out_(method.shared_out ? static_cast<Memory&>(own_.out) : host_memory(), largest, count),
        in_(method.shared_in ? static_cast<Memory&>(own_.in) : host_memory(), largest, count) {
    own_.control().process = getpid();
    own_.control().out = out_.slot(0);
    group.barrier();
    transport_ = method.make({.messages = messages_,
                              .own = own_,
                              .peer = memories[static_cast<std::size_t>(1 - rank_)],
                              .wait = group.wait(),
                              .out = out_,
                              .in = in_,
                              .stride = SlotBuffer::stride(largest)});
  }

  bool delivers(Way way, std::uint64_t seed) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      fill(out_.slot(i), layout(i), payload(rank_, i, seed));
      poison(in_.slot(i), layout(i), payload(1 - rank_, i, seed).seed);
    }
    group_.barrier();
    const bool first = rank_ == 0;
    const auto all = [&](auto move) {
      for (std::size_t i = 0; i < sizes_.size(); ++i) move(i, sizes_[i]);
    };
    Transport& by = *transport_;
    if (way == Way::kExchange) {
      all([&](std::size_t i, std::size_t bytes) { by.exchange(i, bytes); });
    } else if (way == Way::kBlocking) {
      all([&](std::size_t i, std::size_t bytes) {
        if (first) by.send(i, bytes);
        by.receive(i, bytes);
        if (!first) by.send(i, bytes);
      });
    } else {
      const bool both = way == Way::kBothWays;
      if (both || !first)
        all([&](std::size_t i, std::size_t bytes) { by.begin_receive(i, bytes); });
      if (both || first) all([&](std::size_t i, std::size_t bytes) { by.begin_send(i, bytes); });
      by.finish();
    }
    group_.barrier();
    bool good = true;
    for (std::size_t i = 0; i < sizes_.size() && (way != Way::kOneWay || !first); ++i)
      good = good && !find_mismatch(in_.slot(i), layout(i), payload(1 - rank_, i, seed));
    group_.barrier();
    return good;
  }

 private:
  SlotLayout layout(std::size_t i) const {
    return {.bytes = sizes_[i], .stride = out_.layout().stride, .count = 1};
  }
  static Payload payload(int sender, std::size_t slot, std::uint64_t seed) {
    return {(seed << 20) + 1000 * slot + static_cast<std::uint64_t>(sender)};
  }

  int rank_;
  SharedGroup& group_;
  std::vector<std::size_t> sizes_;
  Messages messages_;
  HostMemory& own_;
  SlotBuffer out_;
  SlotBuffer in_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace

TEST_CASE("every transport through memory delivers, however it is called") {
  for (const HostMethod& method : host_methods())
    for (const auto& [largest, count] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, 10}, {7, 300}, {64, 300}, {8192, 300}, {300'001, 25}}) {
      if (method.name.rfind("flag", 0) == 0 && largest > 300000) continue;
      CAPTURE(method.name);
      CAPTURE(largest);
      std::vector<HostMemory> memories;
      for (int rank = 0; rank < 2; ++rank)
        memories.emplace_back(SlotBuffer::stride(largest) * count);
      CHECK(in_group(rank_cpus(), [&](SharedGroup& group) {
              End end(method, memories, group, largest, count);
              std::uint64_t seed = 1;
              for (const Way way : {Way::kOneWay, Way::kBothWays, Way::kBlocking, Way::kExchange,
                                    Way::kBothWays, Way::kOneWay})
                if (!group.everywhere(end.delivers(way, ++seed))) return 10 + static_cast<int>(way);
              return static_cast<int>(kGood);
            }) == kGood);
    }
}
