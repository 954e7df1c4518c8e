// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

// The batch is an argument: what reads it needs no memory that outlives the launch.
const char* const kBatch = R"(
struct BatchedPiece {
  u8* to;
  const u8* from;
  u64 bytes;
};
struct Batch {
  BatchedPiece pieces[kMostPieces];
};

KERNEL copy_batch(Batch batch, u64 blocks) {
  const BatchedPiece piece = batch.pieces[blockIdx.x / (u32)blocks];
  const u64 first = (u64)(blockIdx.x % (u32)blocks) * blockDim.x + threadIdx.x;
  carry<4>(piece.to, piece.from, piece.bytes, first, blocks * blockDim.x);
}
)";

}  // namespace nearpeak::kernels
