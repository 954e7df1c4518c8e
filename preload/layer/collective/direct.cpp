// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/direct.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "calls/handles.hpp"
#include "layer/collective/collective_sync.hpp"
#include "layer/collective/numbers.hpp"
#include "layer/datatype/freeing.hpp"
#include "layer/protocol/advance.hpp"
#include "layer/protocol/opening.hpp"

namespace nearpeak::layer {

// What a rank keeps of a communicator of which all ranks share memory.
struct Circle {
  Circle(CollectiveSync its, std::vector<int> members, std::uint32_t own_seat)
      : sync(std::move(its)), ranks(std::move(members)), seat(own_seat) {}

  CollectiveSync sync;
  std::vector<int> ranks;  // in MPI_COMM_WORLD
  std::uint32_t seat;
  std::uint64_t shown[2] = {0, 0};  // allocations whose handles its seat has
  bool agreed = false;              // whether all open each other's memory,
  bool never = false;               // and that they do not
};

namespace {

enum Collective : std::uint8_t {
  kAllreduce = 1,
  kReduce,
  kReduceScatterBlock,
  kBcast,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kGatherv,
  kScatterv,
  kAllgatherv,
  kAlltoallv,
  kReduceScatter,
};

// Null: no collective of it is direct.
auto& circles = *new calls::Handles<MPI_Comm, std::shared_ptr<Circle>>;

struct FreeSeats {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t fresh = 0;
  std::vector<std::uint32_t> used;

  std::uint32_t take() {
    if (used.empty()) return fresh < kSeats ? fresh++ : kNone;
    const std::uint32_t seat = used.back();
    used.pop_back();
    return seat;
  }
};
auto& free_seats = *new FreeSeats;

// The ranks in MPI_COMM_WORLD; none where no collective can be direct, which all ranks tell alike.
std::vector<int> members_on_one_machine(MPI_Comm comm) {
  int inter = 0, size = 0;
  NEARPEAK_REAL(MPI_Comm_test_inter)(comm, &inter);
  NEARPEAK_REAL(MPI_Comm_size)(comm, &size);
  static_assert(Seat::kMost == Reducer::kMost);
  if (inter != 0 || size < 2 || size > static_cast<int>(Seat::kMost)) return {};
  std::vector<int> ranks;
  int machine = -1;
  for (int i = 0; i < size; ++i) {
    const int rank = world_rank(comm, i);
    if (rank < 0) return {};
    const int its = world.machines[static_cast<std::size_t>(rank)];
    if (i == 0) machine = its;
    if (its < 0 || its != machine) return {};
    ranks.push_back(rank);
  }
  return ranks;
}

// At the first collective of a communicator that may be direct, with whatever buffers, all ranks
// tell each other which seats they have.
std::shared_ptr<Circle> open_circle(MPI_Comm comm) {
  struct Told {
    std::uint64_t number = 0;
    std::uint32_t seat = FreeSeats::kNone;
    std::uint32_t sees_all = 0;
  };
  std::vector<int> ranks = members_on_one_machine(comm);
  if (ranks.empty()) return nullptr;
  const auto seen = [](int rank) { return world.areas[static_cast<std::size_t>(rank)].get(); };
  Told own;
  {
    const Guard guard;
    own.seat = free_seats.take();
  }
  own.sees_all = std::all_of(ranks.begin(), ranks.end(), seen) ? 1 : 0;
  if (own.seat != FreeSeats::kNone)
    own.number = world.area().seat(own.seat).told.load(std::memory_order_relaxed) / 4;
  std::vector<Told> all(ranks.size());
  constexpr int kBytes = sizeof(Told);
  const int code = NEARPEAK_REAL(MPI_Allgather)(&own, kBytes, calls::byte_type(), all.data(),
                                                kBytes, calls::byte_type(), comm);
  bool good = code == MPI_SUCCESS;
  std::vector<Seat*> seats;
  std::uint64_t number = 0;
  for (const Told& told : all) {
    good = good && told.seat != FreeSeats::kNone && told.sees_all != 0;
    number = std::max(number, told.number);
  }
  if (!good) {
    const Guard guard;
    if (own.seat != FreeSeats::kNone) free_seats.used.push_back(own.seat);
    return nullptr;
  }
  for (std::size_t i = 0; i < ranks.size(); ++i)
    seats.push_back(&area_of(ranks[i]).seat(all[i].seat));
  const auto place = std::find(ranks.begin(), ranks.end(), world.rank) - ranks.begin();
  CollectiveSync sync(std::move(seats), static_cast<std::size_t>(place), number);
  return std::make_shared<Circle>(std::move(sync), std::move(ranks), own.seat);
}

Circle* circle_of(MPI_Comm comm) {
  if (world.settings.direct_bytes == 0 || comm == calls::comm_null()) return nullptr;
  const std::shared_ptr<Circle>* circle = circles.find(comm);
  if (circle != nullptr) return circle->get();
  // All ranks are freeing it, or none.
  if (Freeing<MPI_Comm>::find(comm) != nullptr) return nullptr;
  return circles.put(comm, open_circle(comm))->get();
}

// Between two looks at what others say.
class Idle {
 public:
  void operator()() const {
    constexpr unsigned kLooks = 16;
    if (++tries_ % kLooks == 0) {
      const Guard guard;
      if (busy()) advance();
      progress();
    }
    waiting_();
  }

 private:
  mutable unsigned tries_ = 0;
  mutable Waiting waiting_;
};

// A buffer of this rank, where it has one in this collective, and whether others read there.
struct Own {
  const void* at = nullptr;
  Found found;
  bool shown = false;
  std::uint64_t bytes = 0;  // where others read; 0: as in the longest buffer
  Located place;

  char* data() const { return static_cast<char*>(const_cast<void*>(at)); }  // NOLINT: as it is used
};

// What is one rank's of a buffer.
struct Share {
  std::int64_t place;  // in bytes
  std::uint64_t bytes;
};

struct Exchange {
  Offer offer;
  std::uint64_t all_bytes = 0;  // in the longest buffer
  Own data;
  Own in;
  std::optional<Combination> reduction;
  bool reduces = false;        // this rank
  std::vector<Share> given{};  // of its data, where others have to be told
  // Of data and in, as they are shown: what keeps them there, and a copy of what cannot be.
  std::array<ShownChunks::Kept, 2> kept{};
  std::array<Scratch, 2> copies{};

  // Where this rank writes what others read then.
  char* in_at() const { return copies[1] ? copies[1].data() : in.data(); }
};

// A collective that all have agreed to do directly.
class Direct {
 public:
  Direct(Circle& circle, const std::vector<Offer>& all, const Exchange& exchange, const Idle& idle)
      : offers(all), own(circle.sync.own()), exchange_(exchange), circle_(circle), idle_(idle) {}

  const std::vector<Offer>& offers;
  const std::size_t own;

  std::size_t size() const { return offers.size(); }
  std::vector<std::size_t> others_first() const { return circle_.sync.others_first(); }
  std::uint64_t bytes() const { return exchange_.offer.bytes; }
  // Where a rank's data is, and what it receives, while no other of its allocations is asked for.
  char* data(std::size_t i) const { return open(i, exchange_.data, offers[i].data, 0); }
  char* in(std::size_t i) const { return open(i, exchange_.in, offers[i].in, 1); }
  char* in() const { return exchange_.in_at(); }
  // What a rank has given to this one.
  char* given(std::size_t i) const { return data(i) + circle_.sync.seat(i).places[own]; }

  void copy(const std::vector<Piece>& pieces) const {
    if (pieces.size() != 1) return world.devices.copy_between_devices(exchange_.in.place, pieces);
    const Located source =
        exchange_.data.at != nullptr ? exchange_.data.place : Devices::place_of_opened(world.home);
    world.devices.copy_between_devices(exchange_.in.place, pieces[0].to, source, pieces[0].from,
                                       pieces[0].bytes);
  }
  std::vector<Share> equal_shares() const {
    std::vector<Share> all;
    for (std::size_t i = 0; i < size(); ++i)
      all.push_back({static_cast<std::int64_t>(i * bytes()), bytes()});
    return all;
  }
  // The data of all goes to their shares of what this rank receives, but its own where that is
  // kept.
  void gather(const std::vector<Share>& to, bool keeps) const {
    std::vector<Piece> pieces;
    for (const std::size_t i : others_first())
      if (to[i].bytes > 0 && (i != own || !keeps))
        pieces.push_back({in() + to[i].place, data(i), to[i].bytes});
    copy(pieces);
  }
  // So many bytes of the data of all, from the same place on.
  void reduce(char* to, std::uint64_t from, std::uint64_t bytes) const {
    std::vector<const void*> all;
    for (std::size_t i = 0; i < size(); ++i) all.push_back(data(i) + from);
    world.devices.reduce(exchange_.in.place, *exchange_.reduction, to, all,
                         bytes / exchange_.reduction->bytes);
  }
  void await(std::uint64_t step) const { circle_.sync.await(step, idle_); }

 private:
  char* open(std::size_t i, const Own& mine, const Offer::Memory& memory, std::size_t which) const {
    if (i == own) return mine.data();
    check_part(circle_.sync.seat(i).handles[which], memory.offset, 0);
    return world.devices.opened(world.home, static_cast<std::uint32_t>(circle_.ranks[i]),
                                memory.allocation, circle_.sync.seat(i).handles[which]) +
           memory.offset;
  }

  const Exchange& exchange_;
  Circle& circle_;
  const Idle& idle_;
};

// Where others read of a buffer, from its start on.
Span read_part(const Exchange& exchange, std::size_t which) {
  const Own& buffer = which == 0 ? exchange.data : exchange.in;
  Span part{0, static_cast<MPI_Aint>(buffer.bytes > 0 ? buffer.bytes : exchange.all_bytes)};
  if (which != 0 || exchange.given.empty()) return part;
  part.high = 0;
  for (const Share& share : exchange.given) {
    if (share.bytes == 0) continue;
    part.low = std::min(part.low, static_cast<MPI_Aint>(share.place));
    part.high = std::max(part.high, static_cast<MPI_Aint>(share.place + share.bytes));
  }
  return part;
}

// What others cannot open is shown as a copy, which is read, or written in its place.
std::optional<Shown> show_copy(Exchange& exchange, std::size_t which, const Span& part) {
  const Own& buffer = which == 0 ? exchange.data : exchange.in;
  Scratch& copy = exchange.copies.at(which);
  copy = which == 0 ? world.devices.copied(buffer.place, buffer.data() + part.low, part.bytes())
                    : world.devices.scratch(buffer.place.device, part.bytes());
  return copy ? world.devices.show(copy.place(), copy.data(), part.bytes()) : std::nullopt;
}

bool show(Circle& circle, Exchange& exchange, std::size_t which) {
  const Own& buffer = which == 0 ? exchange.data : exchange.in;
  Offer::Memory& memory = which == 0 ? exchange.offer.data : exchange.offer.in;
  if (!buffer.shown) return true;
  if (buffer.place.shareable && circle.shown[which] == buffer.place.allocation) {
    memory.allocation = buffer.place.allocation;
    memory.offset = static_cast<std::uint64_t>(static_cast<const char*>(buffer.at) -
                                               static_cast<const char*>(buffer.place.base));
    return true;
  }
  const Span part = read_part(exchange, which);
  auto shown = show_to(circle.ranks, buffer.place, buffer.data() + part.low, part.bytes());
  if (!shown) shown = show_copy(exchange, which, part);
  if (!shown) return false;
  memory.allocation = shown->allocation;
  memory.offset = shown->offset - static_cast<std::uint64_t>(part.low);
  // Nobody looks at it between two collectives.
  circle.sync.seat().handles[which] = shown->exported;
  circle.shown[which] = shown->exported.chunks == 0 ? shown->allocation : 0;
  exchange.kept[which] = std::move(shown->kept);
  return true;
}

// Whether this rank can do its part, by what it knows alone; then the offer says where its memory
// is.
bool offers(Circle& circle, Exchange& exchange) {
  if (circle.never || exchange.all_bytes < world.settings.direct_bytes) return false;
  for (Own* const buffer : {&exchange.data, &exchange.in}) {
    if (buffer->at == nullptr) continue;
    if (!buffer->found.on_device) return false;
    buffer->place = world.devices.locate(buffer->found);
    accept_envelopes(buffer->place.device);
    if (!world.accepts_envelopes.load() || buffer->place.device != world.home) return false;
    if (exchange.reduction &&
        reinterpret_cast<std::uintptr_t>(buffer->at) % exchange.reduction->bytes != 0)
      return false;
    if (exchange.reduces &&
        !world.devices.reduces(buffer->place, *exchange.reduction, exchange.all_bytes))
      return false;
  }
  if (exchange.reduction) {
    exchange.offer.kind = static_cast<std::uint8_t>(exchange.reduction->kind);
    exchange.offer.bytes_of_number = static_cast<std::uint8_t>(exchange.reduction->bytes);
    exchange.offer.operation = static_cast<std::uint8_t>(exchange.reduction->operation);
  }
  for (std::size_t i = 0; i < exchange.given.size(); ++i)
    circle.sync.seat().places[i] = exchange.given[i].place;
  return show(circle, exchange, 0) && show(circle, exchange, 1);
}

// The result goes where it is wanted, if it was written into a copy.
void write_back(const Exchange& exchange) {
  const Scratch& copy = exchange.copies[1];
  if (copy)
    world.devices.copy_between_devices(exchange.in.place, exchange.in.data(), copy.place(),
                                       copy.data(), read_part(exchange, 1).bytes());
}

// One that was done or not: others read no more of what they were shown.
bool end(std::optional<Exchange>& exchange, bool done) {
  const Guard guard;
  if (done) {
    ++world.counts.direct_collectives;
    if (exchange->copies[0] || exchange->copies[1]) ++world.counts.copied_collectives;
    write_back(*exchange);
  }
  exchange.reset();
  return done;
}

// Of ranks that all accept envelopes.
bool opens_all(const Circle& circle) {
  return std::all_of(circle.ranks.begin(), circle.ranks.end(),
                     [](int rank) { return rank == world.rank || opens(rank); });
}

bool is_rank(int root, std::size_t size) { return root >= 0 && root < static_cast<int>(size); }

// Whether the MPI library says that a call is wrong, and so does not wait for other ranks: then the
// layer may not either, and such a call is none.
bool is_wrong(MPI_Count n, MPI_Datatype type) {
  return n < 0 || (n > 0 && type == calls::datatype_null());
}
bool is_wrong_root(int root, MPI_Comm comm) {
  int size = 0;
  return comm == calls::comm_null() || NEARPEAK_REAL(MPI_Comm_size)(comm, &size) != MPI_SUCCESS ||
         !is_rank(root, static_cast<std::size_t>(size));
}

// `wrong`: whether the call is. `wanted()`: an Exchange, or nothing where a kind of buffers or
// types is not done. `run(direct)` does it, and ends when no other rank reads this one's memory any
// more.
template <typename Wanted, typename Run>
bool directly(const FoundBuffers& found, MPI_Comm comm, bool wrong, const Wanted& wanted,
              const Run& run) {
  if (wrong) return false;
  Circle* const circle = circle_of(comm);
  if (circle == nullptr) return false;
  std::optional<Exchange> exchange;
  if (!found.none_on_device() && !circle->never) {
    const Guard guard;
    exchange = wanted(circle->sync.size(), circle->sync.own());
    if (exchange && !offers(*circle, *exchange)) exchange.reset();
  }
  CollectiveSync& sync = circle->sync;
  if (!exchange) {
    sync.pass();
    return false;
  }
  const Idle idle;
  const std::vector<Offer> all = sync.meet(exchange->offer, idle);
  if (all.empty() ||
      !std::all_of(all.begin(), all.end(), [&](const Offer& each) { return each.fits(all[0]); }))
    return end(exchange, false);
  if (!circle->agreed) {
    bool opened = false;
    {
      const Guard guard;
      opened = opens_all(*circle);
    }
    circle->agreed = true;
    circle->never = !sync.agree(opened, idle);
    if (circle->never) return end(exchange, false);
  }
  run(Direct(*circle, all, *exchange, idle));
  return end(exchange, true);
}

// Bytes of n of a type without gaps; 0: it has some.
std::uint64_t dense_bytes(MPI_Count n, MPI_Datatype type) {
  return type_of(type).dense ? room_of(n, type) : 0;
}

Offer offer_of(Collective collective, std::uint64_t bytes, int root = -1) {
  Offer offer;
  offer.collective = collective;
  offer.bytes = bytes;
  offer.root = root;
  return offer;
}

Own shown(const void* at, const Found& found, std::uint64_t bytes = 0) {
  return {.at = at, .found = found, .shown = true, .bytes = bytes, .place = {}};
}
Own hidden(const void* at, const Found& found) {
  return {.at = at, .found = found, .shown = false, .bytes = 0, .place = {}};
}

// Nothing where the type has gaps.
std::vector<Share> all_of(const Shares& shares, std::size_t ranks) {
  std::vector<Share> all;
  for (const Part& part : shares(static_cast<int>(ranks))) {
    if (is_wrong(part.n, part.type) || !type_of(part.type).dense) return {};
    all.push_back({part.offset, room_of(part.n, part.type)});
  }
  return all;
}
std::uint64_t sum_of(const std::vector<Share>& all) {
  std::uint64_t bytes = 0;
  for (const Share& each : all) bytes += each.bytes;
  return bytes;
}
// Who has nothing in a buffer may have none.
Own unless_empty(std::uint64_t bytes, const Own& buffer) { return bytes > 0 ? buffer : Own{}; }

// What a rank gives, in place or not.
Own given(const FoundBuffers& found, const void* data, const void* in) {
  return is_in_place(data) ? shown(in, found.in) : shown(data, found.data);
}

}  // namespace

// Each rank combines what all have of its part, and takes the other parts from those that did so.
// Where that moves no less, as between two, each combines all of it.
bool allreduce(const FoundBuffers& found, const void* data, void* in, MPI_Count n,
               MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  constexpr std::uint64_t kShort = std::uint64_t{256} << 10;
  const auto wanted = [&](std::size_t, std::size_t) -> std::optional<Exchange> {
    const auto reduction = reduction_of(type, op);
    if (!reduction) return std::nullopt;
    const std::uint64_t bytes = dense_bytes(n, type);
    return Exchange{.offer = offer_of(kAllreduce, bytes),
                    .all_bytes = bytes,
                    .data = given(found, data, in),
                    .in = shown(in, found.in),
                    .reduction = reduction,
                    .reduces = true};
  };
  const bool wrong = is_wrong(n, type);
  return directly(found, comm, wrong, wanted, [](const Direct& direct) {
    const std::uint64_t bytes = direct.bytes();
    // What is in its place is overwritten, and so is not read by others.
    const bool in_place = std::any_of(direct.offers.begin(), direct.offers.end(),
                                      [](const Offer& each) { return each.data == each.in; });
    if (!in_place && (direct.size() == 2 || bytes <= kShort)) {
      {
        const Guard guard;
        direct.reduce(direct.in(), 0, bytes);
      }
      return direct.await(1);
    }
    constexpr std::uint64_t kLine = 128;
    const std::uint64_t lines = (bytes + kLine - 1) / kLine;
    const std::uint64_t part = (lines + direct.size() - 1) / direct.size() * kLine;
    const auto begin = [&](std::size_t i) { return std::min(i * part, bytes); };
    const auto length = [&](std::size_t i) { return begin(i + 1) - begin(i); };
    {
      const Guard guard;
      direct.reduce(direct.in() + begin(direct.own), begin(direct.own), length(direct.own));
    }
    direct.await(1);
    {
      const Guard guard;
      std::vector<Piece> pieces;
      for (const std::size_t i : direct.others_first())
        if (i != direct.own && length(i) > 0)
          pieces.push_back({direct.in() + begin(i), direct.in(i) + begin(i), length(i)});
      direct.copy(pieces);
    }
    direct.await(2);
  });
}

// The root combines all.
bool reduce(const FoundBuffers& found, const void* data, void* in, MPI_Count n, MPI_Datatype type,
            MPI_Op op, int root, MPI_Comm comm) {
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const auto reduction = reduction_of(type, op);
    const bool has = static_cast<int>(own) == root;
    if (!reduction || !is_rank(root, size) || (is_in_place(data) && !has)) return std::nullopt;
    const std::uint64_t bytes = dense_bytes(n, type);
    return Exchange{.offer = offer_of(kReduce, bytes, root),
                    .all_bytes = bytes,
                    .data = given(found, data, in),
                    .in = has ? hidden(in, found.in) : Own{},
                    .reduction = reduction,
                    .reduces = has};
  };
  const bool wrong = is_wrong(n, type) || is_wrong_root(root, comm);
  return directly(found, comm, wrong, wanted, [&](const Direct& direct) {
    if (static_cast<int>(direct.own) == root) {
      const Guard guard;
      direct.reduce(direct.in(), 0, direct.bytes());
    }
    direct.await(1);
  });
}

// In place it would write where others read.
bool reduce_scatter_block(const FoundBuffers& found, const void* data, void* in, MPI_Count n,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto wanted = [&](std::size_t size, std::size_t) -> std::optional<Exchange> {
    const auto reduction = reduction_of(type, op);
    if (!reduction || is_in_place(data)) return std::nullopt;
    const std::uint64_t bytes = dense_bytes(n, type);
    return Exchange{.offer = offer_of(kReduceScatterBlock, bytes),
                    .all_bytes = bytes * size,
                    .data = shown(data, found.data),
                    .in = hidden(in, found.in),
                    .reduction = reduction,
                    .reduces = true};
  };
  const bool wrong = is_wrong(n, type);
  return directly(found, comm, wrong, wanted, [](const Direct& direct) {
    {
      const Guard guard;
      direct.reduce(direct.in(), direct.own * direct.bytes(), direct.bytes());
    }
    direct.await(1);
  });
}

bool bcast(const FoundBuffers& found, void* in, MPI_Count n, MPI_Datatype type, int root,
           MPI_Comm comm) {
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    if (!is_rank(root, size)) return std::nullopt;
    const std::uint64_t bytes = dense_bytes(n, type);
    const bool has = static_cast<int>(own) == root;
    return Exchange{.offer = offer_of(kBcast, bytes, root),
                    .all_bytes = bytes,
                    .data = has ? shown(in, found.in) : Own{},
                    .in = has ? Own{} : hidden(in, found.in),
                    .reduction = {}};
  };
  const bool wrong = is_wrong(n, type) || is_wrong_root(root, comm);
  return directly(found, comm, wrong, wanted, [&](const Direct& direct) {
    if (static_cast<int>(direct.own) != root) {
      const Guard guard;
      direct.copy({{direct.in(), direct.data(static_cast<std::size_t>(root)), direct.bytes()}});
    }
    direct.await(1);
  });
}

bool gather(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type, void* in,
            MPI_Count m, MPI_Datatype in_type, int root, MPI_Comm comm) {
  const bool keeps = is_in_place(data);
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const bool has = static_cast<int>(own) == root;
    if (!is_rank(root, size) || (keeps && !has)) return std::nullopt;
    const std::uint64_t bytes = has ? dense_bytes(m, in_type) : dense_bytes(n, type);
    if (has && !keeps && dense_bytes(n, type) != bytes) return std::nullopt;
    return Exchange{.offer = offer_of(kGather, bytes, root),
                    .all_bytes = bytes * size,
                    .data = keeps ? Own{} : shown(data, found.data, bytes),
                    .in = has ? hidden(in, found.in) : Own{},
                    .reduction = {}};
  };
  const bool wrong = (!keeps && is_wrong(n, type)) || is_wrong_root(root, comm);
  return directly(found, comm, wrong, wanted, [&](const Direct& direct) {
    if (static_cast<int>(direct.own) == root) {
      const Guard guard;
      direct.gather(direct.equal_shares(), keeps);
    }
    direct.await(1);
  });
}

bool scatter(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type, void* in,
             MPI_Count m, MPI_Datatype in_type, int root, MPI_Comm comm) {
  const bool keeps = is_in_place(in);
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const bool has = static_cast<int>(own) == root;
    if (!is_rank(root, size) || (keeps && !has)) return std::nullopt;
    const std::uint64_t bytes = has ? dense_bytes(n, type) : dense_bytes(m, in_type);
    if (has && !keeps && dense_bytes(m, in_type) != bytes) return std::nullopt;
    return Exchange{.offer = offer_of(kScatter, bytes, root),
                    .all_bytes = bytes * size,
                    .data = has ? shown(data, found.data) : Own{},
                    .in = keeps ? Own{} : hidden(in, found.in),
                    .reduction = {}};
  };
  const bool wrong = (!keeps && is_wrong(m, in_type)) || is_wrong_root(root, comm);
  return directly(found, comm, wrong, wanted, [&](const Direct& direct) {
    if (!keeps) {
      const Guard guard;
      const char* const from = direct.data(static_cast<std::size_t>(root));
      direct.copy({{direct.in(), from + direct.own * direct.bytes(), direct.bytes()}});
    }
    direct.await(1);
  });
}

bool allgather(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type,
               void* in, MPI_Count m, MPI_Datatype in_type, MPI_Comm comm) {
  const bool keeps = is_in_place(data);
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const std::uint64_t bytes = dense_bytes(m, in_type);
    if (!keeps && dense_bytes(n, type) != bytes) return std::nullopt;
    const void* const its = static_cast<const char*>(in) + own * bytes;
    return Exchange{.offer = offer_of(kAllgather, bytes),
                    .all_bytes = bytes * size,
                    .data = keeps ? shown(its, found.in, bytes) : shown(data, found.data, bytes),
                    .in = hidden(in, found.in),
                    .reduction = {}};
  };
  const bool wrong = is_wrong(m, in_type) || (!keeps && is_wrong(n, type));
  return directly(found, comm, wrong, wanted, [&](const Direct& direct) {
    {
      const Guard guard;
      direct.gather(direct.equal_shares(), keeps);
    }
    direct.await(1);
  });
}

// In place it would write where others read.
bool alltoall(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type, void* in,
              MPI_Count m, MPI_Datatype in_type, MPI_Comm comm) {
  const auto wanted = [&](std::size_t size, std::size_t) -> std::optional<Exchange> {
    const std::uint64_t bytes = dense_bytes(m, in_type);
    if (is_in_place(data) || dense_bytes(n, type) != bytes) return std::nullopt;
    return Exchange{.offer = offer_of(kAlltoall, bytes),
                    .all_bytes = bytes * size,
                    .data = shown(data, found.data),
                    .in = hidden(in, found.in),
                    .reduction = {}};
  };
  const bool wrong = is_wrong(m, in_type) || (!is_in_place(data) && is_wrong(n, type));
  return directly(found, comm, wrong, wanted, [](const Direct& direct) {
    {
      const Guard guard;
      std::vector<Piece> pieces;
      for (const std::size_t i : direct.others_first())
        pieces.push_back({direct.in() + i * direct.bytes(),
                          direct.data(i) + direct.own * direct.bytes(), direct.bytes()});
      direct.copy(pieces);
    }
    direct.await(1);
  });
}

// What others give and get each rank knows of itself alone, so offers say nothing of it.
bool gatherv(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type, void* in,
             const Shares& shares, int root, MPI_Comm comm) {
  const bool keeps = is_in_place(data);
  std::vector<Share> all;
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const bool has = static_cast<int>(own) == root;
    if (!is_rank(root, size) || (keeps && !has)) return std::nullopt;
    if (has) all = all_of(shares, size);
    const std::uint64_t bytes = keeps ? 0 : dense_bytes(n, type);
    if (has && (all.empty() || (!keeps && all[own].bytes != bytes))) return std::nullopt;
    return Exchange{.offer = offer_of(kGatherv, 0, root),
                    .all_bytes = has ? sum_of(all) : bytes,
                    .data = unless_empty(bytes, shown(data, found.data, bytes)),
                    .in = has ? hidden(in, found.in) : Own{},
                    .reduction = {}};
  };
  const bool wrong = (!keeps && is_wrong(n, type)) || is_wrong_root(root, comm);
  return directly(found, comm, wrong, wanted, [&](const Direct& direct) {
    if (static_cast<int>(direct.own) == root) {
      const Guard guard;
      direct.gather(all, keeps);
    }
    direct.await(1);
  });
}

bool scatterv(const FoundBuffers& found, const void* data, const Shares& shares, void* in,
              MPI_Count m, MPI_Datatype in_type, int root, MPI_Comm comm) {
  const bool keeps = is_in_place(in);
  std::uint64_t bytes = 0;
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const bool has = static_cast<int>(own) == root;
    if (!is_rank(root, size) || (keeps && !has)) return std::nullopt;
    const std::vector<Share> all = has ? all_of(shares, size) : std::vector<Share>();
    bytes = keeps ? 0 : dense_bytes(m, in_type);
    if (has && (all.empty() || (!keeps && all[own].bytes != bytes))) return std::nullopt;
    return Exchange{.offer = offer_of(kScatterv, 0, root),
                    .all_bytes = has ? sum_of(all) : bytes,
                    .data = has ? shown(data, found.data) : Own{},
                    .in = unless_empty(bytes, hidden(in, found.in)),
                    .reduction = {},
                    .given = all};
  };
  const bool wrong = (!keeps && is_wrong(m, in_type)) || is_wrong_root(root, comm);
  return directly(found, comm, wrong, wanted, [&](const Direct& direct) {
    if (bytes > 0) {
      const Guard guard;
      direct.copy({{direct.in(), direct.given(static_cast<std::size_t>(root)), bytes}});
    }
    direct.await(1);
  });
}

bool allgatherv(const FoundBuffers& found, const void* data, MPI_Count n, MPI_Datatype type,
                void* in, const Shares& shares, MPI_Comm comm) {
  const bool keeps = is_in_place(data);
  std::vector<Share> all;
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    all = all_of(shares, size);
    if (all.empty() || (!keeps && dense_bytes(n, type) != all[own].bytes)) return std::nullopt;
    const std::uint64_t bytes = sum_of(all);
    const void* const its = static_cast<const char*>(in) + all[own].place;
    const std::uint64_t own_bytes = all[own].bytes;
    const Own mine = keeps ? shown(its, found.in, own_bytes) : shown(data, found.data, own_bytes);
    return Exchange{.offer = offer_of(kAllgatherv, bytes),
                    .all_bytes = bytes,
                    .data = unless_empty(own_bytes, mine),
                    .in = hidden(in, found.in),
                    .reduction = {}};
  };
  const bool wrong = !keeps && is_wrong(n, type);
  return directly(found, comm, wrong, wanted, [&](const Direct& direct) {
    {
      const Guard guard;
      direct.gather(all, keeps);
    }
    direct.await(1);
  });
}

// In place it would write where others read.
bool alltoallv(const FoundBuffers& found, const void* data, const Shares& gives, void* in,
               const Shares& gets, MPI_Comm comm) {
  std::vector<Share> got;
  const auto wanted = [&](std::size_t size, std::size_t) -> std::optional<Exchange> {
    if (is_in_place(data)) return std::nullopt;
    const std::vector<Share> given = all_of(gives, size);
    got = all_of(gets, size);
    if (given.empty() || got.empty()) return std::nullopt;
    const std::uint64_t out = sum_of(given), back = sum_of(got);
    return Exchange{.offer = offer_of(kAlltoallv, 0),
                    .all_bytes = std::max(out, back),
                    .data = unless_empty(out, shown(data, found.data)),
                    .in = unless_empty(back, hidden(in, found.in)),
                    .reduction = {},
                    .given = given};
  };
  return directly(found, comm, false, wanted, [&](const Direct& direct) {
    {
      const Guard guard;
      std::vector<Piece> pieces;
      for (const std::size_t i : direct.others_first())
        if (got[i].bytes > 0)
          pieces.push_back({direct.in() + got[i].place, direct.given(i), got[i].bytes});
      direct.copy(pieces);
    }
    direct.await(1);
  });
}

// In place it would write where others read.
bool reduce_scatter(const FoundBuffers& found, const void* data, void* in, const Shares& shares,
                    MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  std::vector<Share> all;
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const auto reduction = reduction_of(type, op);
    if (!reduction || is_in_place(data)) return std::nullopt;
    all = all_of(shares, size);
    if (all.empty()) return std::nullopt;
    const std::uint64_t bytes = sum_of(all);
    return Exchange{.offer = offer_of(kReduceScatter, bytes),
                    .all_bytes = bytes,
                    .data = shown(data, found.data),
                    .in = unless_empty(all[own].bytes, hidden(in, found.in)),
                    .reduction = reduction,
                    .reduces = all[own].bytes > 0};
  };
  return directly(found, comm, false, wanted, [&](const Direct& direct) {
    const Share& mine = all[direct.own];
    if (mine.bytes > 0) {
      const Guard guard;
      direct.reduce(direct.in(), static_cast<std::uint64_t>(mine.place), mine.bytes);
    }
    direct.await(1);
  });
}

KeptCircle take_circle(MPI_Comm comm) {
  const std::shared_ptr<Circle>* const known = circles.find(comm);
  if (known == nullptr) return std::nullopt;
  const std::shared_ptr<Circle> circle = *known;
  circles.drop(comm);
  return circle;
}

void give_circle(MPI_Comm comm, const KeptCircle& circle) {
  if (circle) circles.put(comm, *circle);
}

void end_circle(const KeptCircle& circle) {
  if (!circle || !*circle) return;
  const Guard guard;
  free_seats.used.push_back((*circle)->seat);
}

}  // namespace nearpeak::layer
