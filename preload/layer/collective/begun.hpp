// SPDX-License-Identifier: Apache-2.0
// Collectives that do not wait, from their call, or their start, on: until all ranks have agreed on
// the way, and until they are complete (docs/contributing/layer-design.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "layer/collective/circle.hpp"
#include "layer/collective/collective.hpp"
#include "layer/collective/direct.hpp"
#include "layer/collective/exchange.hpp"
#include "layer/collective/handing_over.hpp"
#include "layer/datatype/held_frees.hpp"
#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

// One that all ranks may do directly. Who calls holds the guard.
class BegunCollective : public Operation {
 public:
  static constexpr bool covers(Kind kind) { return kind == Kind::kBegunCollective; }

  // Does what can be done now. Returns whether it is complete.
  bool advance();
  // All ranks have agreed on it, or it becomes the MPI library's.
  void withdraw();
  // Whether another rank may wait for what this one does.
  bool is_awaited() const { return state_ < State::kInLibrary; }
  // For the application.
  virtual void complete() = 0;

 protected:
  BegunCollective(SharedCircle of, MPI_Comm on)
      : Operation(Kind::kBegunCollective, on), circle(std::move(of)) {}
  // This rank offers it, or passes, and the MPI library gets it when those before it are decided,
  // if it is `in_order`.
  void begin(std::uint64_t number, std::optional<Exchange> exchange, bool in_order);
  // Gives it to the MPI library.
  virtual int begin_in_library() = 0;

  SharedCircle circle;
  MPI_Request inner{};  // of the MPI library
  std::vector<HostShadow> shadows;

 private:
  enum class State { kOffered, kDirect, kForLibrary, kInLibrary, kDone };

  void look_at_offers();
  void begin_direct();
  void go_on();
  void leave_to_library();
  void call_library();
  void look_at_library();

  State state_ = State::kDone;
  std::uint64_t number_ = 0;
  bool in_order_ = false;
  Exchange exchange_;
  std::vector<Offer> all_;
  unsigned step_ = 0;
};

// Whether this rank may offer a collective of this number that does not wait, and whether it does.
bool may_offer(const Circle& circle, std::uint64_t number);
bool can_offer(Circle& circle, std::uint64_t number, Exchange& exchange);
// Of all that are begun. Whether some are left.
bool advance_begun();

// What is tried of a collective that is begun.
class BegunForm final : public CollectiveForm {
 public:
  // Also where this rank does not offer it, but has to wait before it calls the MPI library.
  bool take(const FoundBuffers& found, MPI_Comm comm, bool wrong, const Wanted& wanted) override;

  SharedCircle circle;
  std::uint64_t number = 0;
  std::optional<Exchange> exchange;
};

// Calls the MPI library with shadows, which it keeps there.
using CallLibrary = std::function<int(std::vector<HostShadow>& shadows, MPI_Request* request)>;

// Keeps one that a form has taken by a request of the layer's.
int keep_begun(BegunForm form, MPI_Comm comm, CallLibrary call, MPI_Request* request);
// Before a call of a communicator that the MPI library orders with others: those before it that not
// all ranks have called become its own.
void withdraw_all_of(MPI_Comm comm);

// What is tried of a persistent one, which takes part in this call in all ranks.
class AgainForm final : public CollectiveForm {
 public:
  bool take(const FoundBuffers& found, MPI_Comm comm, bool wrong, const Wanted& wanted) override;

  SharedCircle circle;
  std::optional<Exchange> exchange;
};

// Keeps one, of which the MPI library has made `made`, between shadows.
int keep_again(AgainForm form, MPI_Comm comm, std::vector<HostShadow> shadows, MPI_Request made,
               MPI_Request* request);

// Begins a collective: `plan(form, found, buffers)` is one of direct.hpp, `call(to, request)` the
// call with others in the place of the buffers.
template <typename Needs, typename Plan, typename Call>
int begin_collective(Buffers buffers, MPI_Comm comm, MPI_Request* request, const Needs& needs,
                     const Plan& plan, const Call& call) {
  const FoundBuffers found(buffers, needs);
  {
    const Guard guard;
    BegunForm form;
    if (plan(form, found, buffers))
      return keep_begun(
          std::move(form), comm,
          [=](std::vector<HostShadow>& kept, MPI_Request* made) {
            if (found.none_on_device()) return call(buffers, made);
            HostShadows shadows = shadows_of(buffers, found, needs());
            fill(shadows);
            kept = std::move(shadows.made);
            return call(shadows.buffers, made);
          },
          request);
    if (form.circle == nullptr) withdraw_all_of(comm);
  }
  return with_shadows_later(Begun::kNow, buffers, found, comm, request, needs, call);
}

// Makes a persistent one.
template <typename Needs, typename Plan, typename Call>
int make_collective(Buffers buffers, MPI_Comm comm, MPI_Request* request, const Needs& needs,
                    const Plan& plan, const Call& call) {
  const FoundBuffers found(buffers, needs);
  const HandingOver handing_over;  // it may wait for other ranks
  AgainForm form;
  if (!plan(form, found, buffers))
    return with_shadows_later(Begun::kByStart, buffers, found, comm, request, needs, call);
  HostShadows shadows{buffers, {}};
  if (!found.none_on_device()) {
    const Guard guard;
    shadows = shadows_of(buffers, found, needs());
  }
  MPI_Request made{};
  const int code = call(shadows.buffers, &made);
  if (code == MPI_SUCCESS)
    return keep_again(std::move(form), comm, std::move(shadows.made), made, request);
  end_circle(*form.circle);
  return code;
}

}  // namespace nearpeak::layer
