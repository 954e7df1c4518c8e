// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "layer/collective/exchange.hpp"

namespace nearpeak::layer {
namespace {

// What all have agreed on, as this rank finds it.
class Direct {
 public:
  Direct(Circle& circle, std::uint64_t number, const std::vector<Offer>& offers,
         const Exchange& exchange)
      : all(offers), own(circle.sync.own()), its(exchange), circle_(circle), number_(number) {}

  const std::vector<Offer>& all;
  const std::size_t own;
  const Exchange& its;

  std::size_t size() const { return all.size(); }
  std::vector<std::size_t> others_first() const { return circle_.sync.others_first(); }
  std::uint64_t bytes() const { return its.offer.bytes; }
  std::size_t root() const { return static_cast<std::size_t>(its.offer.root); }
  bool is_root() const { return own == root(); }
  // Where a rank's data is, and what it receives, while no other of its allocations is asked for.
  char* data(std::size_t i) const { return open(i, its.data, all[i].data, 0); }
  char* in(std::size_t i) const { return open(i, its.in, all[i].in, 1); }
  char* in() const { return its.in_at(); }
  // What a rank has given to this one.
  char* given(std::size_t i) const { return data(i) + circle_.sync.lane(i, number_).places[own]; }

  void copy(const std::vector<Piece>& pieces) const {
    if (pieces.size() != 1) return world.devices.copy_between_devices(its.in.place, pieces);
    const Located source =
        its.data.at != nullptr ? its.data.place : Devices::place_of_opened(world.home);
    world.devices.copy_between_devices(its.in.place, pieces[0].to, source, pieces[0].from,
                                       pieces[0].bytes);
  }
  std::vector<Share> equal_shares() const {
    std::vector<Share> each;
    for (std::size_t i = 0; i < size(); ++i)
      each.push_back({static_cast<std::int64_t>(i * bytes()), bytes()});
    return each;
  }
  // The data of all goes to their shares of what this rank receives, but its own where that is
  // kept.
  void gather(const std::vector<Share>& to) const {
    std::vector<Piece> pieces;
    for (const std::size_t i : others_first())
      if (to[i].bytes > 0 && (i != own || !its.keeps))
        pieces.push_back({in() + to[i].place, data(i), to[i].bytes});
    copy(pieces);
  }
  // Combines `length` bytes of the data of all ranks, each from byte `from` on.
  void reduce(char* to, std::uint64_t from, std::uint64_t length) const {
    std::vector<const void*> vectors;
    for (std::size_t i = 0; i < size(); ++i) vectors.push_back(data(i) + from);
    world.devices.reduce(its.in.place, *its.reduction, to, vectors, length / its.reduction->bytes);
  }

 private:
  char* open(std::size_t i, const Own& mine, const Offer::Memory& memory, std::size_t which) const {
    if (i == own) return mine.data();
    const Exported& handle = circle_.sync.lane(i, number_).handles[which];
    check_part(handle, memory.offset, 0);
    return world.devices.opened(world.home, static_cast<std::uint32_t>(circle_.ranks[i]),
                                memory.allocation, handle) +
           memory.offset;
  }

  Circle& circle_;
  std::uint64_t number_;
};

// Each rank combines what all have of its part, and takes the other parts from those that did so.
// Where that moves no less, as between two, each combines all of it. What is in its place is
// overwritten, and so is not read by others.
bool is_by_parts(const std::vector<Offer>& all) {
  constexpr std::uint64_t kShort = std::uint64_t{256} << 10;
  const bool in_place =
      std::any_of(all.begin(), all.end(), [](const Offer& each) { return each.data == each.in; });
  return in_place || (all.size() > 2 && all[0].bytes > kShort);
}

void allreduce(const Direct& direct, unsigned step) {
  const std::uint64_t bytes = direct.bytes();
  if (!is_by_parts(direct.all)) return direct.reduce(direct.in(), 0, bytes);
  constexpr std::uint64_t kLine = 128;
  const std::uint64_t lines = (bytes + kLine - 1) / kLine;
  const std::uint64_t part = (lines + direct.size() - 1) / direct.size() * kLine;
  const auto begin = [&](std::size_t i) { return std::min(i * part, bytes); };
  const auto length = [&](std::size_t i) { return begin(i + 1) - begin(i); };
  if (step == 1)
    return direct.reduce(direct.in() + begin(direct.own), begin(direct.own), length(direct.own));
  std::vector<Piece> pieces;
  for (const std::size_t i : direct.others_first())
    if (i != direct.own && length(i) > 0)
      pieces.push_back({direct.in() + begin(i), direct.in(i) + begin(i), length(i)});
  direct.copy(pieces);
}

void alltoall(const Direct& direct) {
  std::vector<Piece> pieces;
  for (const std::size_t i : direct.others_first())
    pieces.push_back({direct.in() + i * direct.bytes(),
                      direct.data(i) + direct.own * direct.bytes(), direct.bytes()});
  direct.copy(pieces);
}

void alltoallv(const Direct& direct) {
  const std::vector<Share>& got = direct.its.shares;
  std::vector<Piece> pieces;
  for (const std::size_t i : direct.others_first())
    if (got[i].bytes > 0)
      pieces.push_back({direct.in() + got[i].place, direct.given(i), got[i].bytes});
  direct.copy(pieces);
}

void reduce_scatter(const Direct& direct) {
  const Share& mine = direct.its.shares[direct.own];
  if (mine.bytes > 0)
    direct.reduce(direct.in(), static_cast<std::uint64_t>(mine.place), mine.bytes);
}

}  // namespace

unsigned steps_of(const std::vector<Offer>& all) {
  return all[0].collective == kAllreduce && is_by_parts(all) ? 2 : 1;
}

void do_step(Circle& circle, std::uint64_t number, const std::vector<Offer>& all,
             const Exchange& exchange, unsigned step) {
  const Direct direct(circle, number, all, exchange);
  switch (exchange.offer.collective) {
    case kAllreduce:
      return allreduce(direct, step);
    case kReduce:  // the root combines all
      if (direct.is_root()) direct.reduce(direct.in(), 0, direct.bytes());
      return;
    case kReduceScatterBlock:
      return direct.reduce(direct.in(), direct.own * direct.bytes(), direct.bytes());
    case kBcast:
      if (!direct.is_root())
        direct.copy({{direct.in(), direct.data(direct.root()), direct.bytes()}});
      return;
    case kGather:
      if (direct.is_root()) direct.gather(direct.equal_shares());
      return;
    case kScatter:
      if (!exchange.keeps)
        direct.copy({{direct.in(), direct.data(direct.root()) + direct.own * direct.bytes(),
                      direct.bytes()}});
      return;
    case kAllgather:
      return direct.gather(direct.equal_shares());
    case kAlltoall:
      return alltoall(direct);
    case kGatherv:
      if (direct.is_root()) direct.gather(exchange.shares);
      return;
    case kScatterv:
      if (const std::uint64_t bytes = exchange.shares[0].bytes; bytes > 0)
        direct.copy({{direct.in(), direct.given(direct.root()), bytes}});
      return;
    case kAllgatherv:
      return direct.gather(exchange.shares);
    case kAlltoallv:
      return alltoallv(direct);
    case kReduceScatter:
      return reduce_scatter(direct);
    default:
      return;
  }
}

}  // namespace nearpeak::layer
