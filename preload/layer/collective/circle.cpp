// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/circle.hpp"

#include <algorithm>
#include <utility>

#include "accel/reducer.hpp"
#include "calls/handles.hpp"
#include "layer/collective/handing_over.hpp"
#include "layer/collective/idle.hpp"
#include "layer/datatype/freeing.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

struct Circle::Opening {
  struct Member {
    std::uint64_t tenancy = 0;
    std::uint32_t seat = 0;
    std::uint32_t good = 0;  // it has a seat, and sees the memory of all
  };
  Member own;
  std::vector<Member> all;
  MPI_Request request = calls::request_null();
};

namespace {

// Null: no collective of it is direct.
auto& circles = *new calls::Handles<MPI_Comm, SharedCircle>;

struct Seats {
  std::uint32_t fresh = 0;
  std::vector<std::uint32_t> used;
  std::vector<SharedCircle> opening;  // their members are not all known yet
  Seat none;                          // of circles without a seat
};
Seats& seats = *new Seats;
constexpr std::uint32_t kNoSeat = ~std::uint32_t{0};

std::uint32_t take_seat() {
  if (seats.used.empty()) return seats.fresh < kSeats ? seats.fresh++ : kNoSeat;
  const std::uint32_t seat = seats.used.back();
  seats.used.pop_back();
  return seat;
}

// The ranks in MPI_COMM_WORLD; none where no collective can be direct, which all ranks tell alike.
std::vector<int> members_on_one_machine(MPI_Comm comm) {
  int inter = 0, size = 0;
  NEARPEAK_REAL(MPI_Comm_test_inter)(comm, &inter);
  NEARPEAK_REAL(MPI_Comm_size)(comm, &size);
  static_assert(Lane::kMost == Reducer::kMost);
  if (inter != 0 || size < 2 || size > static_cast<int>(Lane::kMost)) return {};
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

SharedCircle made(std::vector<int> ranks) {
  const std::uint32_t seat = take_seat();
  Seat& memory = seat == kNoSeat ? seats.none : world.area().seat(seat);
  const auto seen = [](int rank) { return world.areas[static_cast<std::size_t>(rank)].get(); };
  const bool good = seat != kNoSeat && std::all_of(ranks.begin(), ranks.end(), seen);
  auto circle = std::make_shared<Circle>(std::move(ranks), seat, memory);
  circle->opening = std::make_shared<Circle::Opening>();
  circle->opening->own = {circle->sync.tenancy(), seat, good ? 1U : 0U};
  circle->opening->all.resize(circle->ranks.size());
  return circle;
}

// All members are known, or the exchange failed.
void conclude(Circle& circle, bool known) {
  const std::shared_ptr<Circle::Opening> opening = std::move(circle.opening);
  circle.opening = nullptr;
  const auto& all = opening->all;
  if (!known || !std::all_of(all.begin(), all.end(), [](const auto& each) { return each.good; })) {
    circle.never = true;
    return;
  }
  std::vector<const Seat*> places;
  std::vector<std::uint64_t> tenancies;
  for (std::size_t i = 0; i < all.size(); ++i) {
    places.push_back(&area_of(circle.ranks[i]).seat(all[i].seat));
    tenancies.push_back(all[i].tenancy);
  }
  const auto own = std::find(circle.ranks.begin(), circle.ranks.end(), world.rank);
  circle.sync.open(std::move(places), std::move(tenancies),
                   static_cast<std::size_t>(own - circle.ranks.begin()),
                   area_of(circle.ranks[0]).seat(all[0].seat));
}

constexpr int kMemberBytes = sizeof(Circle::Opening::Member);

void open_waiting(Circle& circle, MPI_Comm comm) {
  Circle::Opening& opening = *circle.opening;
  const HandingOver handing_over;
  const int code =
      NEARPEAK_REAL(MPI_Allgather)(&opening.own, kMemberBytes, calls::byte_type(),
                                   opening.all.data(), kMemberBytes, calls::byte_type(), comm);
  conclude(circle, code == MPI_SUCCESS);
}

void begin_opening(const SharedCircle& circle, MPI_Comm comm) {
  Circle::Opening& opening = *circle->opening;
  const int code = NEARPEAK_REAL(MPI_Iallgather)(&opening.own, kMemberBytes, calls::byte_type(),
                                                 opening.all.data(), kMemberBytes,
                                                 calls::byte_type(), comm, &opening.request);
  if (code != MPI_SUCCESS) return conclude(*circle, false);
  const Guard guard;
  seats.opening.push_back(circle);
}

// Concludes if all members are known.
void look_at_opening(Circle& circle) {
  if (circle.opening == nullptr) return;
  const Guard guard;
  int done = 0;
  const int code = NEARPEAK_REAL(MPI_Test)(&circle.opening->request, &done, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && done == 0) return;
  conclude(circle, code == MPI_SUCCESS);
  const auto is = [&](const SharedCircle& each) { return each.get() == &circle; };
  seats.opening.erase(std::find_if(seats.opening.begin(), seats.opening.end(), is));
}

void finish_opening(Circle& circle) {
  for (const Idle idle; circle.opening != nullptr; idle()) look_at_opening(circle);
}

}  // namespace

SharedCircle circle_of(MPI_Comm comm, bool may_wait) {
  if (world.settings.direct_bytes == 0 || comm == calls::comm_null()) return nullptr;
  if (const SharedCircle* const known = circles.find(comm)) {
    if (*known && (*known)->opening) look_at_opening(**known);
    return *known;
  }
  // All ranks are freeing it, or none.
  if (Freeing<MPI_Comm>::find(comm) != nullptr) return nullptr;
  SharedCircle circle;
  if (std::vector<int> ranks = members_on_one_machine(comm); !ranks.empty()) {
    {
      const Guard guard;
      circle = made(std::move(ranks));
    }
    if (may_wait)
      open_waiting(*circle, comm);
    else
      begin_opening(circle, comm);
  }
  return *circles.put(comm, circle);
}

SharedCircle circle_for_one(MPI_Comm comm) {
  if (world.settings.direct_bytes == 0 || comm == calls::comm_null()) return nullptr;
  std::vector<int> ranks = members_on_one_machine(comm);
  if (ranks.empty()) return nullptr;
  SharedCircle circle;
  {
    const Guard guard;
    circle = made(std::move(ranks));
  }
  open_waiting(*circle, comm);
  return circle;
}

void end_circle(Circle& circle) {
  const Guard guard;
  if (circle.seat != kNoSeat) seats.used.push_back(circle.seat);
}

void finish_openings() {
  while (!seats.opening.empty()) {
    const SharedCircle next = seats.opening.back();
    finish_opening(*next);
  }
}

KeptCircle take_circle(MPI_Comm comm) {
  const SharedCircle* const known = circles.find(comm);
  if (known == nullptr) return std::nullopt;
  const SharedCircle circle = *known;
  if (circle) finish_opening(*circle);
  circles.drop(comm);
  return circle;
}

void give_circle(MPI_Comm comm, const KeptCircle& circle) {
  if (circle) circles.put(comm, *circle);
}

void end_circle(const KeptCircle& circle) {
  if (circle && *circle) end_circle(**circle);
}

}  // namespace nearpeak::layer
