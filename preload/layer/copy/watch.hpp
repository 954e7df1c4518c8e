// SPDX-License-Identifier: Apache-2.0
// Whether host memory still has the pages that it had: the kernel tells of those that the
// application gives back, whatever it does that by (docs/contributing/layer-design.md). One thread
// at a time.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace nearpeak::layer {

struct Range {
  char* begin = nullptr;
  char* end = nullptr;

  std::size_t bytes() const { return static_cast<std::size_t>(end - begin); }
  bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
  bool has(const Range& other) const { return begin <= other.begin && other.end <= end; }
};

inline std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

class Watch {
 public:
  Watch() = default;
  ~Watch() { stop(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // From now on the kernel tells of these pages. False where it does not: the system has no such
  // thing, or the pages are of a kind that it does not watch.
  bool begin(const Range& pages);
  void end(const Range& pages);
  // Whether they are all there and this process's alone: others could change a file's unseen.
  static bool are_private(const Range& pages);
  // What has gone since it was asked last. What went before pages of a buffer got their place is
  // among it, once steady() was true for some of those.
  std::vector<Range> gone();
  // Nothing is watched any more.
  void stop();
  // False while the kernel is about to change the memory of this process, and where these pages are
  // not watched any more.
  bool steady(const Range& pages) const;

 private:
  bool start();
  void listen();
  void note();

  int kernel_ = -1;
  int end_ = -1;  // told then
  bool tried_ = false;
  std::mutex mutex_;  // held from before the kernel has told of something until it is in gone_
  std::vector<Range> gone_;
  std::thread listener_;
};

}  // namespace nearpeak::layer
