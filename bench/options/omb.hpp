// SPDX-License-Identifier: Apache-2.0
// The options of the OSU micro-benchmarks, which many users know by heart
// (docs/how-to/from-omb.md).
#pragma once

#include <string>
#include <vector>

namespace nearpeak {

// Says what OMB's options are called here, for those among words that were not expected; "" where
// none is OMB's.
std::string omb_hint(const std::vector<std::string>& unexpected);

}  // namespace nearpeak
