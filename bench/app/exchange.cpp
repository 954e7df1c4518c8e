// SPDX-License-Identifier: Apache-2.0
#include "app/exchange.hpp"

#include <algorithm>

namespace nearpeak {

Exchange::Exchange(const CaseContext& context, const std::vector<Link>& links) {
  Group& group = context.group;
  std::vector<Link> ordered = links;
  // Making a transport may need both ends: where all begin with the lowest pair of ranks, some pair
  // is always the first of both.
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Link& link, const Link& other) { return link.peer < other.peer; });
  std::string why;
  for (const Link& link : ordered) {
    const Messages messages{.bytes = std::max(link.out->layout().bytes, link.in->layout().bytes),
                            .window = 1,
                            .slots = 1,
                            .sends = true,
                            .receives = true,
                            .rank = group.rank(),
                            .peer = link.peer};
    const auto methods = context.methods(context, messages, {*link.out, *link.in});
    why = methods.front().unavailable;
    if (why.empty())
      why = failure_of([&] {
        lanes_.push_back(
            {link.out->layout().bytes, link.in->layout().bytes, methods.front().make()});
      });
    if (!why.empty()) break;
  }
  why = group.first_reason(why);
  if (!why.empty()) throw Unfit(why);
}

void Exchange::begin() {
  for (const Lane& lane : lanes_) lane.transport->begin_receive(0, lane.in_bytes);
  for (const Lane& lane : lanes_) lane.transport->begin_send(0, lane.out_bytes);
}

void Exchange::finish() {
  for (const Lane& lane : lanes_) lane.transport->finish();
}

}  // namespace nearpeak
