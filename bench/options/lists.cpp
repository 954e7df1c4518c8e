// SPDX-License-Identifier: Apache-2.0
// What needs no command line.
#include "options/options.hpp"

namespace nearpeak {

std::string comma_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace nearpeak
