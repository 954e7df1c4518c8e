// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/direct.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "layer/collective/idle.hpp"
#include "layer/collective/numbers.hpp"

namespace nearpeak::layer {
namespace {

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

bool end(Exchange& exchange, bool done) {
  const Guard guard;
  end_exchange(exchange, done);
  return done;
}

}  // namespace

bool allreduce(CollectiveForm& form, const FoundBuffers& found, const void* data, void* in,
               MPI_Count n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
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
  return form.take(found, comm, wrong, std::ref(wanted));
}

bool reduce(CollectiveForm& form, const FoundBuffers& found, const void* data, void* in,
            MPI_Count n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
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
  return form.take(found, comm, wrong, std::ref(wanted));
}

// In place it would write where others read.
bool reduce_scatter_block(CollectiveForm& form, const FoundBuffers& found, const void* data,
                          void* in, MPI_Count n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
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
  return form.take(found, comm, wrong, std::ref(wanted));
}

bool bcast(CollectiveForm& form, const FoundBuffers& found, void* in, MPI_Count n,
           MPI_Datatype type, int root, MPI_Comm comm) {
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
  return form.take(found, comm, wrong, std::ref(wanted));
}

bool gather(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
            MPI_Datatype type, void* in, MPI_Count m, MPI_Datatype in_type, int root,
            MPI_Comm comm) {
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
                    .reduction = {},
                    .keeps = keeps};
  };
  const bool wrong = (!keeps && is_wrong(n, type)) || is_wrong_root(root, comm);
  return form.take(found, comm, wrong, std::ref(wanted));
}

bool scatter(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
             MPI_Datatype type, void* in, MPI_Count m, MPI_Datatype in_type, int root,
             MPI_Comm comm) {
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
                    .reduction = {},
                    .keeps = keeps};
  };
  const bool wrong = (!keeps && is_wrong(m, in_type)) || is_wrong_root(root, comm);
  return form.take(found, comm, wrong, std::ref(wanted));
}

bool allgather(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
               MPI_Datatype type, void* in, MPI_Count m, MPI_Datatype in_type, MPI_Comm comm) {
  const bool keeps = is_in_place(data);
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const std::uint64_t bytes = dense_bytes(m, in_type);
    if (!keeps && dense_bytes(n, type) != bytes) return std::nullopt;
    const void* const its = static_cast<const char*>(in) + own * bytes;
    return Exchange{.offer = offer_of(kAllgather, bytes),
                    .all_bytes = bytes * size,
                    .data = keeps ? shown(its, found.in, bytes) : shown(data, found.data, bytes),
                    .in = hidden(in, found.in),
                    .reduction = {},
                    .keeps = keeps};
  };
  const bool wrong = is_wrong(m, in_type) || (!keeps && is_wrong(n, type));
  return form.take(found, comm, wrong, std::ref(wanted));
}

// In place it would write where others read.
bool alltoall(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
              MPI_Datatype type, void* in, MPI_Count m, MPI_Datatype in_type, MPI_Comm comm) {
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
  return form.take(found, comm, wrong, std::ref(wanted));
}

// What others give and get each rank knows of itself alone, so offers say nothing of it.
bool gatherv(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
             MPI_Datatype type, void* in, const Shares& shares, int root, MPI_Comm comm) {
  const bool keeps = is_in_place(data);
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const bool has = static_cast<int>(own) == root;
    if (!is_rank(root, size) || (keeps && !has)) return std::nullopt;
    const std::vector<Share> all = has ? all_of(shares, size) : std::vector<Share>();
    const std::uint64_t bytes = keeps ? 0 : dense_bytes(n, type);
    if (has && (all.empty() || (!keeps && all[own].bytes != bytes))) return std::nullopt;
    return Exchange{.offer = offer_of(kGatherv, 0, root),
                    .all_bytes = has ? sum_of(all) : bytes,
                    .data = unless_empty(bytes, shown(data, found.data, bytes)),
                    .in = has ? hidden(in, found.in) : Own{},
                    .reduction = {},
                    .keeps = keeps,
                    .shares = all};
  };
  const bool wrong = (!keeps && is_wrong(n, type)) || is_wrong_root(root, comm);
  return form.take(found, comm, wrong, std::ref(wanted));
}

bool scatterv(CollectiveForm& form, const FoundBuffers& found, const void* data,
              const Shares& shares, void* in, MPI_Count m, MPI_Datatype in_type, int root,
              MPI_Comm comm) {
  const bool keeps = is_in_place(in);
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const bool has = static_cast<int>(own) == root;
    if (!is_rank(root, size) || (keeps && !has)) return std::nullopt;
    const std::vector<Share> all = has ? all_of(shares, size) : std::vector<Share>();
    const std::uint64_t bytes = keeps ? 0 : dense_bytes(m, in_type);
    if (has && (all.empty() || (!keeps && all[own].bytes != bytes))) return std::nullopt;
    return Exchange{.offer = offer_of(kScatterv, 0, root),
                    .all_bytes = has ? sum_of(all) : bytes,
                    .data = has ? shown(data, found.data) : Own{},
                    .in = unless_empty(bytes, hidden(in, found.in)),
                    .reduction = {},
                    .given = all,
                    .shares = {{0, bytes}}};
  };
  const bool wrong = (!keeps && is_wrong(m, in_type)) || is_wrong_root(root, comm);
  return form.take(found, comm, wrong, std::ref(wanted));
}

bool allgatherv(CollectiveForm& form, const FoundBuffers& found, const void* data, MPI_Count n,
                MPI_Datatype type, void* in, const Shares& shares, MPI_Comm comm) {
  const bool keeps = is_in_place(data);
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const std::vector<Share> all = all_of(shares, size);
    if (all.empty() || (!keeps && dense_bytes(n, type) != all[own].bytes)) return std::nullopt;
    const std::uint64_t bytes = sum_of(all);
    const void* const its = static_cast<const char*>(in) + all[own].place;
    const std::uint64_t own_bytes = all[own].bytes;
    const Own mine = keeps ? shown(its, found.in, own_bytes) : shown(data, found.data, own_bytes);
    return Exchange{.offer = offer_of(kAllgatherv, bytes),
                    .all_bytes = bytes,
                    .data = unless_empty(own_bytes, mine),
                    .in = hidden(in, found.in),
                    .reduction = {},
                    .keeps = keeps,
                    .shares = all};
  };
  const bool wrong = !keeps && is_wrong(n, type);
  return form.take(found, comm, wrong, std::ref(wanted));
}

// In place it would write where others read.
bool alltoallv(CollectiveForm& form, const FoundBuffers& found, const void* data,
               const Shares& gives, void* in, const Shares& gets, MPI_Comm comm) {
  const auto wanted = [&](std::size_t size, std::size_t) -> std::optional<Exchange> {
    if (is_in_place(data)) return std::nullopt;
    const std::vector<Share> given = all_of(gives, size);
    const std::vector<Share> got = all_of(gets, size);
    if (given.empty() || got.empty()) return std::nullopt;
    const std::uint64_t out = sum_of(given), back = sum_of(got);
    return Exchange{.offer = offer_of(kAlltoallv, 0),
                    .all_bytes = std::max(out, back),
                    .data = unless_empty(out, shown(data, found.data)),
                    .in = unless_empty(back, hidden(in, found.in)),
                    .reduction = {},
                    .given = given,
                    .shares = got};
  };
  return form.take(found, comm, false, std::ref(wanted));
}

// In place it would write where others read.
bool reduce_scatter(CollectiveForm& form, const FoundBuffers& found, const void* data, void* in,
                    const Shares& shares, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto wanted = [&](std::size_t size, std::size_t own) -> std::optional<Exchange> {
    const auto reduction = reduction_of(type, op);
    if (!reduction || is_in_place(data)) return std::nullopt;
    const std::vector<Share> all = all_of(shares, size);
    if (all.empty()) return std::nullopt;
    const std::uint64_t bytes = sum_of(all);
    return Exchange{.offer = offer_of(kReduceScatter, bytes),
                    .all_bytes = bytes,
                    .data = shown(data, found.data),
                    .in = unless_empty(all[own].bytes, hidden(in, found.in)),
                    .reduction = reduction,
                    .reduces = all[own].bytes > 0,
                    .shares = all};
  };
  return form.take(found, comm, false, std::ref(wanted));
}

bool WaitingForm::take(const FoundBuffers& found, MPI_Comm comm, bool wrong, const Wanted& wanted) {
  if (wrong) return false;
  const SharedCircle kept = circle_of(comm, true);
  if (kept == nullptr) return false;
  Circle& circle = *kept;
  CollectiveSync& sync = circle.sync;
  const std::uint64_t number = sync.next();
  std::optional<Exchange> exchange;
  if (!found.none_on_device() && circle.is_open()) {
    const Guard guard;
    if (!circle.taken[CollectiveSync::lane_of(number)]) exchange = wanted(sync.size(), sync.own());
    if (exchange && !is_ready(circle, number, *exchange)) exchange.reset();
  }
  if (!exchange) {
    sync.pass(number);
    return false;
  }
  const Idle idle;
  const std::vector<Offer> all = sync.meet(number, exchange->offer, idle);
  if (all.empty() || !all_fit(all)) return end(*exchange, false);
  if (!circle.agreed) {
    {
      const Guard guard;
      say_reach(circle);
    }
    // Waits for all, also behind one that does not: all ranks learn the same.
    for (std::size_t i = 0; i < sync.size(); ++i)
      while (sync.reach(i) == Seat::kUnknown) idle();
    bool reached = false;
    {
      const Guard guard;
      reached = all_reach(circle);
    }
    if (!reached) return end(*exchange, false);
  }
  for (unsigned step = 1; step <= steps_of(all); ++step) {
    {
      const Guard guard;
      do_step(circle, number, all, *exchange, step);
    }
    sync.come(number, step);
    while (!sync.all_came(number, step)) idle();
  }
  return end(*exchange, true);
}

}  // namespace nearpeak::layer
