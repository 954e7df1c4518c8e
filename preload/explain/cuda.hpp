// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nearpeak::explain {

// A call of the driver that does next to nothing, where the driver's calls are seen.
void call_driver();

}  // namespace nearpeak::explain
