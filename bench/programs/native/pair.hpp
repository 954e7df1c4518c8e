// SPDX-License-Identifier: Apache-2.0
// The mode `pair`, for tests.
#pragma once

#include "programs/native/mode.hpp"
#include "transport/host/host.hpp"

namespace nearpeak {

// Returns the exit status. Throws BadInput.
int run_pair(const ModeOptions& options, std::vector<HostMethod> methods);

}  // namespace nearpeak
