// SPDX-License-Identifier: Apache-2.0
#include "accel/host/copy.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

using namespace nearpeak;

TEST_CASE("every kind of copy is right at any size and alignment, and writes nothing else") {
  std::vector<char> from(60000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + 1);
  for (const CopyKind& kind : copy_kinds())
    for (const std::size_t bytes :
         {0u, 1u, 15u, 63u, 64u, 65u, 127u, 128u, 200u, 1000u, 16383u, 50000u})
      for (const std::size_t to_at : {0u, 1u, 16u, 63u})
        for (const std::size_t from_at : {0u, 3u, 64u}) {
          CAPTURE(kind.name);
          CAPTURE(bytes);
          std::vector<char> to(from.size(), 'x');
          kind.copy(to.data() + to_at, from.data() + from_at, bytes);
          CHECK(std::memcmp(to.data() + to_at, from.data() + from_at, bytes) == 0);
          CHECK(std::string(to.data(), to_at) == std::string(to_at, 'x'));
          CHECK(to[to_at + bytes] == 'x');
        }
}
