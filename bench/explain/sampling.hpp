// SPDX-License-Identifier: Apache-2.0
// What this thread is at, looked at again and again: what no call tells, as a library that copies
// or waits by its own instructions.
#pragma once

namespace nearpeak::explain {

// From now on, of the calling thread.
void begin_samples();
// Names what was found since: before a library that is at work is closed.
void name_samples();

}  // namespace nearpeak::explain
