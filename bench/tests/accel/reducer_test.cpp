// SPDX-License-Identifier: Apache-2.0
#include "accel/reducer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "accel/kernels/kernels.hpp"
#include "tests/accel/fake.hpp"
#include "tests/accel/kernels/kernels.hpp"

using namespace nearpeak;
using Numbers = Combination::Kind;
using Combining = Combination::Operation;

namespace {

// Combines vectors of these numbers, from each of several places in their memory on, into memory of
// its own and in place: all from the begin of theirs on, some a number further on, or all.
template <typename Number>
void check(const Combination& reduction, const std::function<Number(Number, Number)>& combined) {
  constexpr std::size_t kN = 2000;
  const FakeCuda fake("", FAKE_CUDA, FAKE_NVRTC);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  Reducer reducer(device, reduction);
  SlotBuffer memory(device.memory(BufferKind::kDevice), (kN + 20) * sizeof(Number), 9);
  for (const std::size_t ranks : {2u, 3u, 8u})
    for (const std::size_t n : {0u, 1u, 7u, 1999u})
      for (const unsigned shifted : {0u, 1u, 2u, 3u}) {
        std::vector<Number> expected(kN, 99), got(kN);
        std::vector<const void*> from;
        for (std::size_t r = 0; r < ranks; ++r) {
          std::vector<Number> mine(kN);
          for (std::size_t i = 0; i < kN; ++i)
            mine[i] = static_cast<Number>((i * 7 + r * 3) % 11 + r % 2 + 1);
          from.push_back(memory.slot(r) + (shifted >> r % 2 & 1U) * sizeof(Number));
          device.copy(const_cast<void*>(from[r]), mine.data(), kN * sizeof(Number));
          for (std::size_t i = 0; i < n; ++i)
            expected[i] = r == 0 ? mine[i] : combined(expected[i], mine[i]);
        }
        char* const to = memory.slot(8);
        const std::vector<Number> blank(kN, 99);
        device.copy(to, blank.data(), kN * sizeof(Number));
        reducer.reduce(to, from, n);
        device.copy(got.data(), to, kN * sizeof(Number));
        CHECK(got == expected);
        reducer.reduce(const_cast<void*>(from[1]), from, n);
        device.copy(got.data(), from[1], n * sizeof(Number));
        CHECK(std::equal(got.begin(), got.begin() + static_cast<long>(n), expected.begin()));
      }
}

}  // namespace

TEST_CASE("a reducer combines vectors, in their place too") {
  check<float>({Numbers::kFloating, 4, Combining::kSum}, [](float a, float b) { return a + b; });
  check<std::uint8_t>({Numbers::kUnsigned, 1, Combining::kXor},
                      [](int a, int b) { return (a == 0) != (b == 0) ? 1 : 0; });
}

TEST_CASE("reductions compile for GPUs") {
  for (const Combination& each : {Combination{Numbers::kFloating, 8, Combining::kSum},
                                  Combination{Numbers::kSigned, 1, Combining::kMax},
                                  Combination{Numbers::kUnsigned, 2, Combining::kXor}})
    compile_for_gpus(kernels::reduction(each), {"reduce"});
}

TEST_CASE("which reductions there are, and which of them are one kernel") {
  const Combination sum{Numbers::kSigned, 4, Combining::kSum};
  CHECK(sum.alike() == Combination{Numbers::kUnsigned, 4, Combining::kSum});
  const Combination least{Numbers::kSigned, 4, Combining::kMin};
  CHECK(least.alike() == least);
  CHECK(Combination{Numbers::kUnsigned, 8, Combining::kBitOr}.known());
  CHECK_FALSE(Combination{Numbers::kFloating, 8, Combining::kBitOr}.known());
  CHECK_FALSE(Combination{Numbers::kFloating, 2, Combining::kSum}.known());
  CHECK_FALSE(Combination{Numbers::kUnsigned, 16, Combining::kSum}.known());
}
