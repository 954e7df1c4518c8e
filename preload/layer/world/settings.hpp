// SPDX-License-Identifier: Apache-2.0
// What the environment says of the layer (docs/contributing/layer-design.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace nearpeak::layer {

// How long messages between memory of the host and of a device go: through host memory in one
// piece; in pieces; the same, and memory of the application is kept pinned.
enum class HostWay { kStaged, kPieces, kKept };

struct Settings {
  bool off = false;
  bool required = false;          // the application ends where the layer is off
  std::size_t inline_bytes = 0;   // messages up to this length go by no envelope
  std::size_t long_bytes = 0;     // of host memory, from this length on
  std::size_t between_bytes = 0;  // to ranks of other nodes in parts, from this length on; 0: none
  std::size_t direct_bytes = 0;   // collectives from this length on; 0: none. Of rank 0, for all
  std::chrono::milliseconds patience{0};
  std::chrono::milliseconds handshake{0};
  std::chrono::microseconds kernel{0};  // that a kernel without work stays; 0: there is none
  bool copy_proxy = true;  // one rank copies for all of a GPU whose contexts take turns,
  std::chrono::microseconds proxy_patience{0};  // and is waited for so long
  bool report = false;
  bool by_length = false;  // it tells of each length
  bool keeps_code = true;  // of kernels, in files
  HostWay host = HostWay::kPieces;
  std::size_t copy_helpers = 0;        // threads of each rank
  bool awaits_default_stream = false;  // before a call uses memory of a device
  std::string folder;                  // that containers share, for sockets
};

// Throws BadInput.
Settings settings_of_environment();

// Those that decide which way a message goes: "NAME=VALUE NAME=VALUE".
std::string told(const Settings& settings);

}  // namespace nearpeak::layer
