// SPDX-License-Identifier: Apache-2.0
// The legacy default stream of each context of this process, for applications that leave it to MPI
// to wait for what they have put there. For any thread.
#pragma once

#include <mutex>
#include <vector>

namespace nearpeak::layer {

class DefaultStream {
 public:
  // Of the driver that Devices loads. Throws BackendUnavailable.
  void load();
  bool loaded() const { return query_ != nullptr; }

  // Until all is done that was put into the stream of the context of this memory of a device. Asks
  // first, as the stream is empty most of the time. Throws AcceleratorError, of a kernel that has
  // failed as well.
  void await(const void* data);
  // The same of all contexts that await() has met.
  void await_all();

 private:
  using Context = void*;
  bool make_current(Context context) const { return set_current_(context) == 0; }
  // Of the memory; where that is no context's, as of a pool, of the current context of its device,
  // else of the primary one.
  Context context_of(const void* data);
  void keep(Context context);
  // False where the context is no more.
  bool await_in(Context context) const;

  int (*ask_)(unsigned, const int*, void* const*, const void*) = nullptr;
  int (*query_)(void*) = nullptr;
  int (*synchronize_)(void*) = nullptr;
  int (*get_current_)(Context*) = nullptr;
  int (*set_current_)(Context) = nullptr;
  int (*get_device_)(int*) = nullptr;
  int (*retain_primary_)(Context*, int) = nullptr;
  int (*release_primary_)(int) = nullptr;
  int (*exchange_mode_)(int*) = nullptr;
  int (*name_)(int, const char**) = nullptr;
  std::mutex mutex_;
  std::vector<Context> met_;
};

}  // namespace nearpeak::layer
