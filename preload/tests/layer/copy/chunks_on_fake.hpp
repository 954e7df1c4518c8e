// SPDX-License-Identifier: Apache-2.0
// A process that shows memory in chunks, on the fake driver.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/memory.hpp"
#include "layer/copy/devices.hpp"
#include "layer/copy/shown_chunks.hpp"
#include "tests/accel/fake.hpp"

namespace nearpeak::layer {

inline constexpr std::size_t kFakeChunk = std::size_t{2} << 20;  // bytes of one, of vmm-chunks

inline std::uint64_t address(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

struct ChunksOnFake {
  explicit ChunksOnFake(std::size_t most = 100) {
    std::string why;
    REQUIRE(devices.load(why));
    shown.begin(*table, most);
  }
  ~ChunksOnFake() { shown.clear(); }
  ChunksOnFake(const ChunksOnFake&) = delete;
  ChunksOnFake& operator=(const ChunksOnFake&) = delete;

  std::optional<Exported> show(const void* memory, std::size_t bytes, ShownChunks::Kept& kept) {
    return shown.show(devices.locate(memory), memory, bytes, kept,
                      [this](std::uint64_t allocation) { gone.push_back(allocation); });
  }
  void look() {
    shown.look_for_freed(100, [this](std::uint64_t allocation) { gone.push_back(allocation); });
  }
  GivenChunk& first(const Exported& exported) const {
    return table->chunks.at(exported.first_chunk);
  }

  const FakeCuda fake;
  const std::unique_ptr<Accelerator> cuda = FakeCuda::load();
  Memory& in_chunks = *cuda->device(0).memory_from("vmm-chunks");
  Devices devices;
  const std::unique_ptr<ChunkTable> table = std::make_unique<ChunkTable>();
  ShownChunks shown{devices.chunk_questions()};
  std::vector<std::uint64_t> gone;
};

}  // namespace nearpeak::layer
