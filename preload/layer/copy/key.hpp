// SPDX-License-Identifier: Apache-2.0
// What nobody guesses.
#pragma once

#include <array>
#include <random>

namespace nearpeak::layer {

using Key = std::array<unsigned char, 16>;

inline Key random_key() {
  std::random_device device;
  Key key{};
  for (unsigned char& byte : key) byte = static_cast<unsigned char>(device());
  return key;
}

}  // namespace nearpeak::layer
