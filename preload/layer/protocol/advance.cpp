// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/advance.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "layer/protocol/copy_proxy.hpp"
#include "layer/protocol/offered.hpp"
#include "layer/protocol/parts.hpp"
#include "layer/protocol/receive_copies.hpp"
#include "layer/protocol/requests.hpp"
#include "layer/protocol/taken.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

int waiting = 0;     // objects of Waiting
int in_library = 0;  // those of InLibrary that have begun
using More = bool (*)();
std::array<More, 2> advances_more{};  // advance_with()

bool has_more() { return std::any_of(advances_more.begin(), advances_more.end(), std::identity()); }

}  // namespace

Waiting::Waiting() {
  const Guard guard;
  ++waiting;
}

void Waiting::end() {
  if (std::exchange(ended_, true)) return;
  const Guard guard;
  if (--waiting > 0) return;
  try {
    wait_copies();
  } catch (const std::exception& error) {
    end_job(std::string("a copy of a message failed: ") + error.what());
  }
}

void InLibrary::begin() {
  begun_ = true;
  ++in_library;
}

InLibrary::~InLibrary() {
  if (!begun_) return;
  const Guard guard;
  --in_library;
}

bool is_in_library() { return in_library > 0; }

bool busy() {
  return have_freed() || have_copies() || have_arrivals() || is_asked() || has_more() ||
         looks_for_envelopes();
}

void advance() {
  if (is_asked()) serve();
  note_ended_copies();
  advance_offered();
  if (world.accepts_envelopes.load(std::memory_order_relaxed)) advance_receives();
  advance_arrivals();
  for (More& more : advances_more)
    if (more != nullptr && !more()) more = nullptr;
  if (have_freed()) advance_freed();
  if (waiting == 0) wait_copies();
}

void advance_asked(PostedReceive& receive) {
  if (!receive.settled) advance_receive(receive);
  if (waiting == 0) wait_copies();
}

void advance_with(bool (*more)()) {
  if (std::find(advances_more.begin(), advances_more.end(), more) != advances_more.end()) return;
  *std::find(advances_more.begin(), advances_more.end(), nullptr) = more;
}

void progress() {
  int there = 0;
  NEARPEAK_REAL(MPI_Iprobe)(MPI_ANY_SOURCE, 0, world.everyone, &there, MPI_STATUS_IGNORE);
}

void finish_all() {
  // Receivers take what they will before their own end: when all have come here, nothing that is
  // left will be received.
  // Not on MPI_COMM_WORLD: partitioned messages of Open MPI 5.0.11 that were never started leave a
  // collective behind there, which some ranks begin before this one and some after it.
  Pause pause;
  for (; !hear_all(); pause()) advance();
  MPI_Request request{};
  NEARPEAK_REAL(MPI_Ibarrier)(world.everyone, &request);
  for (int all_here = 0; all_here == 0; pause()) {
    advance();
    hear_all();
    NEARPEAK_REAL(MPI_Test)(&request, &all_here, MPI_STATUS_IGNORE);
  }
  // All parts that were received are at their receivers: the library may have to learn of it.
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries && (drop_part() || have_departures()); ++i) {
    advance();
    sched_yield();
  }
  abandon_parts();
}

}  // namespace nearpeak::layer
