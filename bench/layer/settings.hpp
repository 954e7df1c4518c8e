// SPDX-License-Identifier: Apache-2.0
// What the environment says of the layer (docs/layer.md).
#pragma once

#include <chrono>
#include <cstddef>

namespace nearpeak::layer {

struct Settings {
  bool off = false;
  bool required = false;         // the application ends where the layer is off
  std::size_t inline_bytes = 0;  // longer messages go by an envelope
  std::chrono::milliseconds patience{0};
  std::chrono::milliseconds handshake{0};
  std::chrono::microseconds kernel{0};  // that a kernel without work stays; 0: there is none
  bool report = false;
};

// Throws BadInput.
Settings settings_of_environment();

}  // namespace nearpeak::layer
