// SPDX-License-Identifier: Apache-2.0
#include "accel/host/cpu.hpp"

#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace nearpeak {
namespace {

// Of the first CPU: the kernel starts no others that lack what it has.
std::set<std::string, std::less<>> extensions() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

}  // namespace

// Not by the compiler's __builtin_cpu_supports, which needs its run-time library (portable/).
bool cpu_has(std::string_view extension) {
  static const auto all = extensions();
  return all.contains(extension);
}

}  // namespace nearpeak
