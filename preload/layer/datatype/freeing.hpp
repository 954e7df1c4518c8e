// SPDX-License-Identifier: Apache-2.0
// Handles that the application is freeing. Callbacks of its own, that delete attributes, may still
// use them, and once they are freed another thread may get them for something else, before the call
// has returned. So what is kept of a handle is dropped before the call, and until its end nothing
// is kept of it in this thread, in which the callbacks are.
#pragma once

#include <utility>

namespace nearpeak::layer {

template <typename Handle>
class Freeing {
 public:
  explicit Freeing(Handle handle) : handle_(handle), before_(std::exchange(last_, this)) {}
  ~Freeing() { last_ = before_; }
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;

  // Null where this thread is not freeing it.
  static Freeing* find(Handle handle) {
    Freeing* found = last_;
    while (found != nullptr && found->handle_ != handle) found = found->before_;
    return found;
  }

 private:
  static inline thread_local Freeing* last_ = nullptr;
  Handle handle_;
  Freeing* before_;
};

}  // namespace nearpeak::layer
