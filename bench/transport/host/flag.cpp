// SPDX-License-Identifier: Apache-2.0
#include "transport/host/flag.hpp"

namespace nearpeak {
namespace {

bool small(const Messages& messages) { return messages.bytes <= FlagTransport::kLargest; }

const RegisterHostMethod pausing({.name = "flag", .applies = small, .make = [](const HostEnd& end) {
                                    return std::make_unique<FlagTransport>(end, end.wait);
                                  }});

// The processor's hint costs more than a message takes on some, and is of use on others.
const RegisterHostMethod spinning(
    {.name = "flag-spin", .applies = small, .make = [](const HostEnd& end) {
       const Wait wait = end.wait == Wait::kPause ? Wait::kSpin : end.wait;
       return std::make_unique<FlagTransport>(end, wait);
     }});

}  // namespace
}  // namespace nearpeak
