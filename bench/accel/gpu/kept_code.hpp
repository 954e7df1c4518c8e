// SPDX-License-Identifier: Apache-2.0
// Machine code of kernels that was compiled before, by whatever process: NVRTC takes some 0.3 s.
#pragma once

#include <functional>
#include <string>

namespace nearpeak::gpu {

// From now on it is kept in files of this folder, which is made when there is something to keep;
// "": nowhere. Before any thread compiles.
void keep_code_in(std::string folder);

// What was kept for this key, of all that the code depends on, or what `make` returns, which is
// kept then, if the folder can be written. Throws what `make` throws.
std::string kept_code(const std::string& key, const std::function<std::string()>& make);

// What a driver has refused: all that is kept is removed.
void forget_code();

}  // namespace nearpeak::gpu
