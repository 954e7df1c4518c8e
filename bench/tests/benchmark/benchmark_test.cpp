// SPDX-License-Identifier: Apache-2.0
#include "benchmark/benchmark.hpp"

#include <doctest/doctest.h>

using namespace nearpeak;
using Kind = RankRule::Kind;

TEST_CASE("a rule says which numbers of ranks fit it") {
  const RankRule two;
  CHECK(two.fits(2));
  CHECK_FALSE(two.fits(4));
  const RankRule any{.kind = Kind::kAtLeast, .count = 2};
  CHECK(any.fits(7));
  CHECK_FALSE(any.fits(1));
  const RankRule even{.kind = Kind::kEven, .count = 4};
  CHECK(even.fits(6));
  CHECK_FALSE(even.fits(2));
  CHECK_FALSE(even.fits(5));
}

TEST_CASE("benchmarks are known by name, and an unknown one is said with those there are") {
  CHECK(find_benchmark("bw").info.metrics.front().unit == "GB/s");
  CHECK(find_benchmark("latency").over_transport());
  CHECK(benchmark_named("bw") == &find_benchmark("bw"));
  CHECK(benchmark_named("lattency") == nullptr);
  CHECK_THROWS_WITH_AS(
      find_benchmark("lattency"),
      doctest::Contains("bibw, bw, gather, handoff, handoff_allreduce, jacobi2d, latency"),
      BadInput);
}

TEST_CASE("the default of an axis takes the buffers of the ranks") {
  const Axis axis{"win", {"allocated", "created", "shared"}, "", {"allocated", "shared"}};
  CHECK(axis.default_of(true) == "allocated");
  CHECK(axis.default_of(false) == "created");
  const Axis any{"calls", {"blocking", "nonblocking"}, ""};
  CHECK(any.default_of(true) == "blocking");
  CHECK(any.default_of(false) == "blocking");
}
