// SPDX-License-Identifier: Apache-2.0
#include "group/failure.hpp"

#include <algorithm>
#include <iostream>

#include "accel/accelerator.hpp"
#include "options/options.hpp"

namespace nearpeak {

Failure failure_in(const std::function<void()>& start) {
  try {
    start();
  } catch (const BadInput& error) {
    return {kBadInput, error.what()};
  } catch (const BackendUnavailable& error) {
    return {kBadInput, error.what()};
  } catch (const std::exception& error) {
    return {kFailed, error.what()};
  }
  return {};
}

int settle(const std::string& program, const Failure& mine, Group& group) {
  const int status = group.largest(mine.status);
  if (status == 0) return 0;
  const auto texts = group.gather(mine.text);
  if (!group.leads()) return status;
  const bool same = std::all_of(texts.begin(), texts.end(),
                                [&](const std::string& text) { return text == texts.front(); });
  for (std::size_t i = 0; i < (same ? 1 : texts.size()); ++i) {
    if (texts[i].empty()) continue;
    const std::string who = same ? "" : "rank " + std::to_string(i) + ": ";
    std::cerr << program + ": " + who + texts[i] + "\n" << std::flush;
  }
  return status;
}

}  // namespace nearpeak
