// SPDX-License-Identifier: Apache-2.0
#include "accel/batch_copier.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/accel/fake.hpp"

using namespace nearpeak;

TEST_CASE("a batch of pieces is copied whole, wherever they begin, and nothing beside them") {
  constexpr std::size_t kRoom = std::size_t{1} << 20;
  const FakeCuda fake("reachable=1", FAKE_CUDA, FAKE_NVRTC);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  BatchCopier copier(device);
  const SlotBuffer from(device.memory(BufferKind::kDevice), kRoom, 1);
  const SlotBuffer to(device.memory(BufferKind::kDevice), kRoom, 1);
  for (std::size_t i = 0; i < kRoom; ++i) from.slot(0)[i] = static_cast<char>(i * 131 + i / 251);
  for (const std::size_t count : {std::size_t{1}, std::size_t{7}, CopyBatch::kMost})
    for (const std::size_t bytes : {1, 8, 61, 4096, 10'000}) {
      std::vector<char> expected(kRoom, 'x');
      std::fill_n(to.slot(0), kRoom, 'x');
      CopyBatch batch;
      std::size_t place = 0;
      for (std::size_t i = 0; i < count; ++i) {
        CHECK_FALSE(batch.full());
        const std::size_t its = i % 3 == 0 ? bytes : bytes / 2 + 1;
        const std::size_t aside = place + (i % 2 == 0 ? 0 : 3);  // so that both do not lie alike
        std::copy_n(from.slot(0) + aside, its, expected.data() + place);
        batch.add({to.slot(0) + place, from.slot(0) + aside, its});
        place += its + 5;
      }
      copier.begin(batch);
      copier.wait();
      CHECK(copier.ended());
      CHECK(std::equal(expected.begin(), expected.end(), to.slot(0)));
      CHECK(batch.full() == (count == CopyBatch::kMost));
    }
}
