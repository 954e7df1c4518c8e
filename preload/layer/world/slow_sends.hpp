// SPDX-License-Identifier: Apache-2.0
// Messages of device memory that went through host memory, although the GPUs of both ranks reach
// each other. On one H200 a copy between two ranks takes a fifth of that time for 64 KiB, and a
// twenty-fourth for 1 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace nearpeak::layer {

// The application's.
enum class MemoryKind { kPlain, kChunks, kOther, kManaged };
// Why a message went so.
enum class Hindrance {
  kManaged,      // the CPU reaches its memory
  kMode,         // MPI_Ssend or MPI_Bsend
  kPersistent,   // a persistent send
  kGaps,         // of a datatype that no kernel packs
  kNotOpened,    // the receiver opens no memory of this rank's device
  kNoFile,       // its memory is shown by a file descriptor, which the receiver may not take,
  kUnshareable,  // or cannot be shown; and for a copy of it the layer has no device memory
  kNoHandle,     // its handle is opened in no other container, and likewise
  kNoMeeting,    // the ranks of the machine are in containers that have no socket in common,
  kOtherUser,    // or some are another user's, or a policy keeps them apart,
  kNoFiles,      // or the system hands no files over between them
  kNoSlot        // too many are under way
};

class SlowSends {
 public:
  static constexpr std::size_t kLeastBytes = std::size_t{64} << 10;  // of a message

  void note(Hindrance why, MemoryKind of, std::size_t bytes);
  // What was most of it, why, and what to do; empty where it was little.
  std::string line() const;

 private:
  struct Sum {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::pair<Hindrance, MemoryKind>, Sum> all_;
};

}  // namespace nearpeak::layer
