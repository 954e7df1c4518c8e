// SPDX-License-Identifier: Apache-2.0
#include "layer/world/slow_sends.hpp"

#include <algorithm>

namespace nearpeak::layer {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

const char* words(MemoryKind of) {
  switch (of) {
    case MemoryKind::kManaged:
      return "managed memory";
    case MemoryKind::kChunks:
      return "device memory that is mapped in chunks (cuMemMap, as PyTorch's expandable segments)";
    case MemoryKind::kOther:
      return "device memory that has no handle (a pool's, as that of cudaMallocAsync, or mapped in "
             "chunks without one)";
    case MemoryKind::kPlain:
      break;
  }
  return "device memory";
}

struct Advice {
  const char* why;
  const char* what_to_do;
};

Advice advice(Hindrance why) {
  switch (why) {
    case Hindrance::kManaged:
      return {"managed memory is host memory to MPI", "allocate buffers with cudaMalloc"};
    case Hindrance::kMode:
      return {"MPI_Ssend and MPI_Bsend go this way", "call MPI_Send or MPI_Isend instead"};
    case Hindrance::kPersistent:
      return {"persistent sends go this way", "call MPI_Isend instead"};
    case Hindrance::kGaps:
      return {
          "no kernel packs their datatype",
          "see whether NEARPEAK_LAYER_REPORT=1 tells that libnvrtc is not found, or pack the data "
          "first"};
    case Hindrance::kNotOpened:
      return {"the driver does not open memory of this GPU in the receiver",
              "run the ranks in one container, with all GPUs visible"};
    case Hindrance::kNoFile:
      return {
          "its descriptor cannot be taken: the system forbids pidfd_getfd (ptrace), and the "
          "layer has no room for copies on the GPU",
          "set kernel.yama.ptrace_scope to 0, or allow ptrace in the container"};
    case Hindrance::kUnshareable:
      return {"other processes cannot open it, and the layer has no room for copies on the GPU",
              "allocate buffers with cudaMalloc (in PyTorch: PYTORCH_CUDA_ALLOC_CONF without "
              "backend:cudaMallocAsync), or send less at once"};
    case Hindrance::kNoHandle:
      return {
          "the driver opens handles of it in no other container, and the layer has no room for "
          "copies on the GPU",
          "run the ranks in one PID namespace, or send less at once"};
    case Hindrance::kNoMeeting:
      return {
          "they are in containers that share no network, and no folder that NEARPEAK_LAYER_MEET or "
          "TMPDIR names",
          "let the containers share one of these, or run the ranks in one"};
    case Hindrance::kOtherUser:
      return {
          "some of them run as another user, or a security policy as of SELinux keeps them apart",
          "run all ranks as one user, in containers that the policy lets connect"};
    case Hindrance::kNoFiles:
      return {"the system hands no files over between their containers",
              "run the ranks in one container, let them have more open files, or see what its "
              "security policy forbids"};
    case Hindrance::kNoSlot:
      break;
  }
  return {"too many messages were under way", "complete some before more are begun"};
}

}  // namespace

void SlowSends::note(Hindrance why, MemoryKind of, std::size_t bytes) {
  if (bytes < kLeastBytes) return;
  Sum& sum = all_[{why, of}];
  ++sum.messages;
  sum.bytes += bytes;
}

std::string SlowSends::line() const {
  std::uint64_t bytes = 0;
  for (const auto& [_, sum] : all_) bytes += sum.bytes;
  if (bytes < kMib) return "";
  const auto most = std::max_element(all_.begin(), all_.end(), [](const auto& a, const auto& b) {
    return a.second.bytes < b.second.bytes;
  });
  const auto& [of, sum] = *most;
  const Advice told = advice(of.first);
  const std::string messages =
      sum.messages == 1 ? "1 message" : std::to_string(sum.messages) + " messages";
  const std::string part =
      bytes == sum.bytes ? "" : " of " + std::to_string(bytes / kMib) + " MiB that went so";
  return "slow: " + messages + " (" + std::to_string((sum.bytes + kMib - 1) / kMib) + " MiB" +
         part + ") went from " + words(of.second) +
         " through host memory to ranks of this machine: " + told.why + ". To avoid it, " +
         told.what_to_do + ".";
}

}  // namespace nearpeak::layer
