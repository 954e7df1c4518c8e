// SPDX-License-Identifier: Apache-2.0
#include "benchmark/check_memory.hpp"

#include <doctest/doctest.h>

#include "tests/benchmark/context.hpp"

using namespace nearpeak;

TEST_CASE("buffers that do not fit are told before they are taken") {
  constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 60;
  Alone alone;
  const CaseContext context = context_of(alone, 8);
  CHECK_NOTHROW(check_memory(context, {.all = 1}));
  CHECK_NOTHROW(check_memory(context, {.all = 1, .limited = context.most_bytes}));
  CHECK_THROWS_WITH_AS(check_memory(context, {.all = kTooMuch}),
                       doctest::Contains("the buffers of all ranks of a host are "), Unfit);
  CHECK_THROWS_AS(check_memory(context, {.all = 1, .scratch = kTooMuch}), Unfit);
  CHECK_THROWS_WITH_AS(
      check_memory(context, {.all = 1, .limited = context.most_bytes + 1}, "the cells"),
      doctest::Contains("the cells of a rank take "), Unfit);
}

TEST_CASE("of buffers that grow with the size the largest that fits is told") {
  Alone alone;
  const CaseContext context = context_of(alone, 1 << 20);
  const auto square = [](std::size_t side) { return std::uint64_t{side} * side; };
  CHECK_THROWS_WITH_AS(check_memory(context, 1, square, "the cells"),
                       doctest::Contains("; sizes up to 32768 fit"), Unfit);
  CHECK_THROWS_WITH_AS(check_memory(context, 1 << 19, square, "the cells"),
                       doctest::Contains("; no size fits"), Unfit);
}
