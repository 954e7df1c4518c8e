// SPDX-License-Identifier: Apache-2.0
#include "group/machine.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace nearpeak {

std::string machine_key(const std::string& root) {
  std::ifstream file(root + "/proc/sys/kernel/random/boot_id");
  std::string boot;
  if (file >> boot) return boot;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

// A time namespace shifts it.
std::string clock_key(const std::string& root) {
  std::error_code none;
  return machine_key(root) + ' ' +
         std::filesystem::read_symlink(root + "/proc/self/ns/time", none).string();
}

}  // namespace nearpeak
