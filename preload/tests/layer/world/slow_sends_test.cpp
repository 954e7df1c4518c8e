// SPDX-License-Identifier: Apache-2.0
#include "layer/world/slow_sends.hpp"

#include <doctest/doctest.h>

using nearpeak::layer::Hindrance;
using nearpeak::layer::MemoryKind;
using nearpeak::layer::SlowSends;

namespace {

constexpr std::size_t kMib = std::size_t{1} << 20;

}  // namespace

TEST_CASE("slow sends: nothing is said of little") {
  SlowSends sends;
  for (int i = 0; i < 1000; ++i) sends.note(Hindrance::kMode, MemoryKind::kPlain, 65535);
  sends.note(Hindrance::kMode, MemoryKind::kPlain, kMib - 1);
  CHECK(sends.line().empty());
}

TEST_CASE("slow sends: what was most of it is named, with the reason and what to do") {
  SlowSends sends;
  for (int i = 0; i < 3; ++i) sends.note(Hindrance::kUnshareable, MemoryKind::kOther, 2 * kMib);
  CHECK(sends.line() ==
        "slow: 3 messages (6 MiB) went from device memory that has no handle (a pool's, as that of "
        "cudaMallocAsync, or mapped in chunks without one) through host memory to ranks of this "
        "machine: other processes cannot open it, and the layer has no room for copies on the GPU. "
        "To avoid it, allocate buffers with cudaMalloc (in PyTorch: PYTORCH_CUDA_ALLOC_CONF "
        "without backend:cudaMallocAsync), or send less at once.");
  sends.note(Hindrance::kPersistent, MemoryKind::kPlain, 10 * kMib);
  CHECK(sends.line() ==
        "slow: 1 message (10 MiB of 16 MiB that went so) went from device memory through host "
        "memory to ranks of this machine: persistent sends go this way. To avoid it, call "
        "MPI_Isend instead.");
}
