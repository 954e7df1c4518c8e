// SPDX-License-Identifier: Apache-2.0
// Sends by an envelope, from the envelope until the receiver has the message. Who calls holds the
// guard.
#pragma once

#include <memory>
#include <optional>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

// The time of one look at several sends, which asks the clock once, and again after a copy.
class Now {
 public:
  OfferedSend::Clock::time_point operator()() {
    if (!time_) time_ = OfferedSend::Clock::now();
    return *time_;
  }

 private:
  std::optional<OfferedSend::Clock::time_point> time_;
};

// Keeps one whose envelope is being sent, until it is done: its caller has it until
// release_offered(), or until it has a request.
OfferedSend& keep_offered(std::unique_ptr<OfferedSend> send);
// The call has it no more.
void release_offered(OfferedSend& send);
// The application's request for it is no more.
void release_request(OfferedSend& send);

// Looks at one that somebody waits for.
void advance_awaited(OfferedSend& send, Now& now);
// Looks at a few of them, in turn.
void advance_offered();

}  // namespace nearpeak::layer
