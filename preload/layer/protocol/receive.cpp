// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/receive.hpp"

#include "layer/protocol/opening.hpp"
#include "layer/protocol/own_request.hpp"
#include "layer/protocol/requests.hpp"

namespace nearpeak::layer {

Target target_of(const Incoming& in) {
  const Type& type = type_of(in.type);
  Target target{.data = in.data,
                .n = in.n,
                .type = in.type,
                .room = in.n <= 0 ? 0 : static_cast<std::size_t>(in.n * type.bytes),
                .dense = type.dense,
                .on_device = in.found.on_device};
  if (!target.on_device) return target;
  target.place = world.devices.locate(in.found);
  accept_envelopes(target.place.device);
  return target;
}

void note_short_receive(MPI_Request request, const Origin& origin) {
  count_short_receive();
  keep(std::make_unique<ShortReceive>(origin), request);
}

void note_short_receive_again(MPI_Request request, const Origin& origin) {
  auto receive = std::make_unique<ShortReceive>(origin);
  receive->be_persistent();
  keep(std::move(receive), request);
}

void keep_posted(std::unique_ptr<PostedReceive> receive, MPI_Request request) {
  receive->hold_type();
  PostedReceive& kept = *receive;
  keep(std::move(receive), request);
  if (kept.persistent)
    kept.started = false;
  else
    open_receive(kept);
}

int post_matched(const Target& target, const Origin& origin, MPI_Message one,
                 MPI_Request* request) {
  return post_receive(std::make_unique<PostedReceive>(target, origin), request,
                      [&](void* where, MPI_Count n, MPI_Datatype type, MPI_Request* made) {
                        const Elements elements(n, type);
                        return NEARPEAK_REAL(MPI_Imrecv)(where, elements.n(), elements.type(), &one,
                                                         made);
                      });
}

int keep_held(std::unique_ptr<HeldReceive> receive, MPI_Request* request) {
  const bool later = receive->is_arriving();
  if (later) receive->hold_type();
  const int code = start_own_request(&receive->status, request);
  if (code != MPI_SUCCESS) return code;
  keep(std::move(receive), *request);
  if (!later) complete_own_request(*request);
  return code;
}

int end_held(HeldReceive& receive, MPI_Status* status) {
  await_message(receive);
  if (status != MPI_STATUS_IGNORE) write_status(receive.status, *status);
  return receive.error == MPI_SUCCESS ? MPI_SUCCESS : raise(receive.comm, receive.error);
}

}  // namespace nearpeak::layer
