// SPDX-License-Identifier: Apache-2.0
// Communicators of which all ranks share memory: what is kept of them for direct collectives
// (docs/contributing/layer-design.md).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "calls/real.hpp"
#include "layer/collective/collective_sync.hpp"

namespace nearpeak::layer {

class BegunCollective;

// Of a communicator, or of a persistent collective.
struct Circle {
  Circle(std::vector<int> members, std::uint32_t its_seat, Seat& memory)
      : sync(memory), ranks(std::move(members)), seat(its_seat) {}

  CollectiveSync sync;
  std::vector<int> ranks;  // in MPI_COMM_WORLD
  std::uint32_t seat;
  // By lane: allocations whose handles it has, and whether a collective is under way there.
  std::array<std::array<std::uint64_t, 2>, Seat::kLanes> shown{};
  std::array<bool, Seat::kLanes> taken{};
  bool said_reach = false;
  bool agreed = false;  // whether all open each other's memory,
  bool never = false;   // and that they do not, or share none
  // Collectives that do not wait, in the order of their calls: from the first on of which is not
  // known whether it is direct.
  std::deque<BegunCollective*> undecided;

  // What ranks tell each other first, until they have.
  struct Opening;
  std::shared_ptr<Opening> opening;

  bool is_open() const { return sync.is_open() && !never; }
};
using SharedCircle = std::shared_ptr<Circle>;

// That of a communicator; null where no collective of it is direct, which all ranks tell alike. The
// first call of a communicator has all ranks tell each other where they are, with whatever buffers,
// and only waits for that if it `may_wait`.
SharedCircle circle_of(MPI_Comm comm, bool may_wait);
// One for a persistent collective, by a call that all ranks make.
SharedCircle circle_for_one(MPI_Comm comm);
// Another one may have its seat.
void end_circle(Circle& circle);
// Waits until the members of all circles are known.
void finish_openings();

// What is kept of a communicator that is about to be freed: all ranks have it, or none. Whoever
// takes it gives it back, if the communicator was not freed, or ends it.
using KeptCircle = std::optional<SharedCircle>;
KeptCircle take_circle(MPI_Comm comm);
void give_circle(MPI_Comm comm, const KeptCircle& circle);
void end_circle(const KeptCircle& circle);

}  // namespace nearpeak::layer
