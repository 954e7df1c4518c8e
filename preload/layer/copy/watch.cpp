// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/watch.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <system_error>
#include <utility>

#include "accel/quiet_thread.hpp"

namespace nearpeak::layer {

#ifdef UFFDIO_WRITEPROTECT

namespace {

#ifndef UFFD_USER_MODE_ONLY
constexpr int UFFD_USER_MODE_ONLY = 1;  // NOLINT: Linux 5.11's name
#endif

uffdio_range range_of(const Range& pages) {
  return {.start = reinterpret_cast<std::uintptr_t>(pages.begin), .len = pages.bytes()};
}

}  // namespace

bool Watch::start() {
  tried_ = true;
  // Faults are not asked for, so that who may not handle those of the kernel may have it.
  kernel_ =
      static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (kernel_ < 0) return false;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE;
  end_ = eventfd(0, EFD_CLOEXEC);
  if (end_ < 0 || ioctl(kernel_, UFFDIO_API, &api) != 0) {
    close(std::exchange(kernel_, -1));
    return false;
  }
  try {
    listener_ = quiet_thread([this] { listen(); });
  } catch (const std::system_error&) {  // there are no more threads
    close(std::exchange(kernel_, -1));
    return false;
  }
  return true;
}

void Watch::stop() {
  if (kernel_ >= 0) {
    const std::uint64_t one = 1;
    if (write(end_, &one, sizeof(one)) == sizeof(one)) listener_.join();
    close(std::exchange(kernel_, -1));
  }
  if (end_ >= 0) close(std::exchange(end_, -1));
}

void Watch::listen() {
  std::array<pollfd, 2> both{pollfd{kernel_, POLLIN, 0}, pollfd{end_, POLLIN, 0}};
  for (;;) {
    poll(both.data(), both.size(), -1);
    if (both[1].revents != 0) return;
    const std::lock_guard lock(mutex_);
    note();
  }
}

// Who changes the memory goes on when its message is read: gone() waits for the lock then.
void Watch::note() {
  uffd_msg message{};
  while (read(kernel_, &message, sizeof(message)) == sizeof(message)) {
    std::uint64_t begin = 0, end = 0;
    if (message.event == UFFD_EVENT_REMAP) {
      begin = message.arg.remap.from;
      end = begin + message.arg.remap.len;
    } else if (message.event == UFFD_EVENT_UNMAP || message.event == UFFD_EVENT_REMOVE) {
      begin = message.arg.remove.start;
      end = message.arg.remove.end;
    }
    gone_.push_back({reinterpret_cast<char*>(begin), reinterpret_cast<char*>(end)});
  }
}

bool Watch::begin(const Range& pages) {
  if (kernel_ < 0 && (tried_ || !start())) return false;
  uffdio_register wanted{};
  wanted.range = range_of(pages);
  // Nothing is ever protected: it is what the kernel tells of events for.
  wanted.mode = UFFDIO_REGISTER_MODE_WP;
  return ioctl(kernel_, UFFDIO_REGISTER, &wanted) == 0;
}

void Watch::end(const Range& pages) {
  uffdio_range range = range_of(pages);
  ioctl(kernel_, UFFDIO_UNREGISTER, &range);  // what is not there any more is no error of ours
}

std::vector<Range> Watch::gone() {
  const std::lock_guard lock(mutex_);
  if (kernel_ >= 0) note();
  return std::exchange(gone_, {});
}

bool Watch::steady(const Range& pages) const {
  uffdio_writeprotect nothing{};
  nothing.range = {.start = reinterpret_cast<std::uintptr_t>(pages.begin), .len = page_bytes()};
  return ioctl(kernel_, UFFDIO_WRITEPROTECT, &nothing) == 0;
}

#else  // headers before Linux 5.7

void Watch::stop() {}
bool Watch::begin(const Range&) { return false; }
void Watch::end(const Range&) {}
std::vector<Range> Watch::gone() { return {}; }
bool Watch::steady(const Range&) const { return false; }

#endif

bool Watch::are_private(const Range& pages) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63U;
  constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61U;
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map < 0) return false;
  std::array<std::uint64_t, 512> entries{};
  std::size_t left = pages.bytes() / page_bytes();
  auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(pages.begin) / page_bytes() * 8);
  bool good = true;
  while (good && left > 0) {
    const std::size_t some = left < entries.size() ? left : entries.size();
    good = pread(map, entries.data(), some * 8, at) == static_cast<ssize_t>(some * 8);
    for (std::size_t i = 0; good && i < some; ++i)
      good = (entries[i] & kPresent) != 0 && (entries[i] & kOfFile) == 0;
    left -= some;
    at += static_cast<off_t>(some * 8);
  }
  close(map);
  return good;
}

}  // namespace nearpeak::layer
