// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace nearpeak {

// Whether the CPUs and the kernel have an extension, by the kernel's name for it, as avx512f.
// May be called before main.
bool cpu_has(std::string_view extension);

}  // namespace nearpeak
