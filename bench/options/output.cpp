// SPDX-License-Identifier: Apache-2.0
#include "options/output.hpp"

#include <cstdio>
#include <iostream>
#include <stdexcept>

namespace nearpeak {

void finish_output() {
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (!flushed || std::ferror(stdout) != 0 || !std::cout)
    throw std::runtime_error("the output cannot be written: see whether its disk is full");
}

}  // namespace nearpeak
