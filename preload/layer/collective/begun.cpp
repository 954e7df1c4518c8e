// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/begun.hpp"

#include <algorithm>
#include <chrono>

#include "layer/collective/idle.hpp"
#include "layer/protocol/advance.hpp"
#include "layer/protocol/own_request.hpp"
#include "layer/protocol/requests.hpp"

namespace nearpeak::layer {
namespace {

struct AllBegun {
  std::vector<BegunCollective*> pending;  // that are not complete, in the order of their calls
};
AllBegun& begun = *new AllBegun;

bool any_awaited() {
  return std::any_of(begun.pending.begin(), begun.pending.end(),
                     [](const BegunCollective* each) { return each->is_awaited(); });
}

template <typename Which>
void withdraw_if(const Which& which) {
  for (BegunCollective* const each : begun.pending)
    if (which(*each)) each->withdraw();
  advance_begun();
}

// One that is called, with a request of the layer's.
class CalledCollective final : public BegunCollective {
 public:
  CalledCollective(BegunForm form, MPI_Comm on, CallLibrary call)
      : BegunCollective(std::move(form.circle), on), call_(std::move(call)), held_(FreesHeld()) {
    begin(form.number, std::move(form.exchange), true);
  }

  void complete() override {
    held_.reset();
    complete_own_request(request);
  }

 private:
  int begin_in_library() override {
    const int code = call_(shadows, &inner);
    held_.reset();
    return code;
  }

  CallLibrary call_;
  std::optional<FreesHeld> held_;
};

}  // namespace

bool advance_begun() {
  for (std::size_t i = 0; i < begun.pending.size();) {
    BegunCollective& each = *begun.pending[i];
    if (!each.advance()) {
      ++i;
      continue;
    }
    begun.pending.erase(begun.pending.begin() + static_cast<std::ptrdiff_t>(i));
    each.complete();
  }
  return !begun.pending.empty();
}

// While a thread of this rank waits in the MPI library, nobody may be there to go on with it.
bool may_offer(const Circle& circle, std::uint64_t number) {
  return circle.is_open() && !is_in_library() && !circle.taken[CollectiveSync::lane_of(number)];
}

bool can_offer(Circle& circle, std::uint64_t number, Exchange& exchange) {
  return is_ready(circle, number, exchange) && all_reach(circle);
}

void BegunCollective::begin(std::uint64_t number, std::optional<Exchange> exchange, bool in_order) {
  number_ = number;
  in_order_ = in_order;
  step_ = 0;
  state_ = exchange ? State::kOffered : State::kForLibrary;
  if (in_order) circle->undecided.push_back(this);
  if (exchange) {
    exchange_ = std::move(*exchange);
    all_.assign(circle->sync.size(), {});
    circle->taken[CollectiveSync::lane_of(number)] = true;
    circle->sync.offer(number, exchange_.offer);
  } else {
    circle->sync.pass(number);
  }
  begun.pending.push_back(this);
  advance_with(advance_begun);
}

bool BegunCollective::advance() {
  if (state_ == State::kOffered) look_at_offers();
  if (state_ == State::kDirect) go_on();
  if (state_ == State::kForLibrary && (!in_order_ || circle->undecided.front() == this))
    call_library();
  if (state_ == State::kInLibrary) look_at_library();
  return state_ == State::kDone;
}

void BegunCollective::look_at_offers() {
  CollectiveSync& sync = circle->sync;
  if (sync.is_denied(number_)) return leave_to_library();
  bool all_said = true;
  for (std::size_t i = 0; i < sync.size(); ++i) {
    const CollectiveSync::Said said = sync.hear(i, number_, all_[i]);
    if (said == CollectiveSync::Said::kNothing) return leave_to_library();
    all_said = all_said && said == CollectiveSync::Said::kOffers;
  }
  if (!all_said) return;
  if (all_fit(all_) && sync.decide(number_, true))
    begin_direct();
  else
    leave_to_library();
}

// Where another rank has seen before that all offer it, this one sees it now.
void BegunCollective::withdraw() {
  if (state_ != State::kOffered) return;
  if (circle->sync.decide(number_, false))
    look_at_offers();
  else
    leave_to_library();
}

void BegunCollective::begin_direct() {
  state_ = State::kDirect;
  if (in_order_) std::erase(circle->undecided, this);
  go_on();
}

void BegunCollective::go_on() {
  CollectiveSync& sync = circle->sync;
  for (const unsigned steps = steps_of(all_); step_ == 0 || sync.all_came(number_, step_);) {
    if (step_ == steps) {
      circle->taken[CollectiveSync::lane_of(number_)] = false;
      end_exchange(exchange_, true);
      state_ = State::kDone;
      return;
    }
    do_step(*circle, number_, all_, exchange_, ++step_);
    sync.come(number_, step_);
  }
}

void BegunCollective::leave_to_library() {
  circle->taken[CollectiveSync::lane_of(number_)] = false;
  end_exchange(exchange_, false);
  state_ = State::kForLibrary;
}

void BegunCollective::call_library() {
  if (in_order_) circle->undecided.pop_front();
  error = begin_in_library();
  state_ = error == MPI_SUCCESS ? State::kInLibrary : State::kDone;
}

void BegunCollective::look_at_library() {
  int done = 0;
  error = NEARPEAK_REAL(MPI_Test)(&inner, &done, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS && done == 0) return;
  if (error == MPI_SUCCESS)
    for (HostShadow& shadow : shadows) shadow.write_back();
  state_ = State::kDone;
}

bool BegunForm::take(const FoundBuffers& found, MPI_Comm comm, bool wrong, const Wanted& wanted) {
  if (wrong) return false;
  circle = circle_of(comm, false);
  if (circle == nullptr) return false;
  number = circle->sync.next();
  if (!found.none_on_device() && may_offer(*circle, number))
    exchange = wanted(circle->sync.size(), circle->sync.own());
  if (exchange && !can_offer(*circle, number, *exchange)) exchange.reset();
  if (exchange || !circle->undecided.empty()) return true;
  circle->sync.pass(number);
  return false;
}

int keep_begun(BegunForm form, MPI_Comm comm, CallLibrary call, MPI_Request* request) {
  const int code = start_own_request(nullptr, request);
  if (code != MPI_SUCCESS) end_job("MPI_Grequest_start failed");
  keep(std::make_unique<CalledCollective>(std::move(form), comm, std::move(call)), *request);
  advance_begun();
  return MPI_SUCCESS;
}

void withdraw_all_of(MPI_Comm comm) {
  if (begun.pending.empty()) return;
  withdraw_if([comm](const BegunCollective& each) { return each.comm == comm; });
}

HandingOver::HandingOver() {
  {
    const Guard guard;
    in_library_.begin();
    if (begun.pending.empty()) return;
  }
  const auto until = std::chrono::steady_clock::now() + world.settings.patience;
  for (const Idle idle;; idle()) {
    const Guard guard;
    advance_begun();
    if (!any_awaited()) return;
    if (std::chrono::steady_clock::now() > until)
      withdraw_if([](const BegunCollective&) { return true; });
  }
}

}  // namespace nearpeak::layer
