// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nearpeak::calls {

using Lookup = void* (*)(void* library, const char* name) noexcept;

// glibc's own dlsym, which one that stands before it calls. Ends the process where there is none.
Lookup lookup();

}  // namespace nearpeak::calls
