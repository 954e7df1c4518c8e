// SPDX-License-Identifier: Apache-2.0
// Persistent collectives. Ranks may start several in any order, so each has a circle of its own.
#include "layer/collective/begun.hpp"
#include "layer/protocol/requests.hpp"

namespace nearpeak::layer {
namespace {

// Its request is the MPI library's where this rank has no buffer on a device: then it passes at
// each start. Else it is that of a persistent receive from this rank itself, which the layer sends
// an empty message when the collective is complete.
class AgainCollective final : public BegunCollective {
 public:
  AgainCollective(AgainForm form, MPI_Comm on, std::vector<HostShadow> made_shadows,
                  MPI_Request made)
      : BegunCollective(std::move(form.circle), on), exchange_(std::move(form.exchange)) {
    persistent = true;
    started = false;
    inner = made;
    shadows = std::move(made_shadows);
  }
  ~AgainCollective() override {
    end_circle(*circle);
    if (has_own_request()) NEARPEAK_REAL(MPI_Request_free)(&inner);
  }

  bool has_own_request() const { return !shadows.empty(); }
  int make_request(MPI_Request* made) const {
    return NEARPEAK_REAL(MPI_Recv_init)(nullptr, 0, calls::byte_type(), 0, tag(), world.own, made);
  }
  void note_start() override;
  void complete() override {
    NEARPEAK_REAL(MPI_Send)(nullptr, 0, calls::byte_type(), 0, tag(), world.own);
  }

 private:
  // The layer's other messages to this rank have lower ones.
  int tag() const { return 16 + static_cast<int>(circle->seat); }
  int begin_in_library() override {
    for (HostShadow& shadow : shadows) shadow.fill();
    ++world.counts.shadowed_calls;
    return NEARPEAK_REAL(MPI_Start)(&inner);
  }

  std::optional<Exchange> exchange_;
};

void AgainCollective::note_start() {
  const std::uint64_t number = circle->sync.next();
  if (!has_own_request()) return circle->sync.pass(number);
  std::optional<Exchange> exchange;
  if (exchange_ && may_offer(*circle, number)) {
    exchange = exchange_;
    // An address may be another allocation's since.
    for (Own* const buffer : {&exchange->data, &exchange->in})
      if (buffer->at != nullptr) buffer->found = find(buffer->at);
    if (!can_offer(*circle, number, *exchange)) exchange.reset();
  }
  begin(number, std::move(exchange), false);
  advance_begun();
}

}  // namespace

bool AgainForm::take(const FoundBuffers& found, MPI_Comm comm, bool wrong, const Wanted& wanted) {
  if (wrong) return false;
  circle = circle_for_one(comm);
  if (circle == nullptr) return false;
  if (circle->never) {
    end_circle(*circle);
    return false;
  }
  if (!found.none_on_device()) exchange = wanted(circle->sync.size(), circle->sync.own());
  return true;
}

int keep_again(AgainForm form, MPI_Comm comm, std::vector<HostShadow> shadows, MPI_Request made,
               MPI_Request* request) {
  const Guard guard;
  auto again = std::make_unique<AgainCollective>(std::move(form), comm, std::move(shadows), made);
  *request = made;
  const int code = again->has_own_request() ? again->make_request(request) : MPI_SUCCESS;
  if (code == MPI_SUCCESS) keep(std::move(again), *request);
  return code;
}

}  // namespace nearpeak::layer
