// SPDX-License-Identifier: Apache-2.0
// Marks between which `nearpeak explain` looks at what a library does: its library (explain/) is
// preloaded then. In all other launches marks do nothing. The layer sets none, as explain looks at
// the layer, too.
#pragma once

#include <dlfcn.h>

#include <cstdint>

namespace nearpeak {

enum class Mark : int {  // as in explain/events.hpp
  kPrepares = 0,         // samples are going to begin
  kBegins = 1,           // a sample; 1: all ranks begin it together
  kEnds = 2,             // a sample of so many iterations
  kTurn = 3,             // a message of a ping-pong has arrived
  kOwnBegins = 4,        // what this thread asks of a driver now is no library's doing
  kOwnEnds = 5,
};

using MarkFunction = void (*)(int what, std::uint64_t number, int rank, int ranks);
#ifdef NEARPEAK_LAYER
inline constexpr MarkFunction mark_function = nullptr;
#else
inline const auto mark_function =
    reinterpret_cast<MarkFunction>(dlsym(RTLD_DEFAULT, "nearpeak_explain_mark"));
#endif

// Whether anybody was told, which takes time.
inline bool mark(Mark what, std::uint64_t number = 0, int rank = 0, int ranks = 0) {
  if (mark_function == nullptr) [[likely]]
    return false;
  mark_function(static_cast<int>(what), number, rank, ranks);
  return true;
}

// While it exists the calling thread does the measuring program's own work.
class OwnWork {
 public:
  OwnWork() { mark(Mark::kOwnBegins); }
  ~OwnWork() { mark(Mark::kOwnEnds); }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;
};

}  // namespace nearpeak
