// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/process_file.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace nearpeak::layer {
namespace {

// By number: the C library may be older than they are. They are the same on all machines.
constexpr long kPidfdOpen = 434;
constexpr long kPidfdGetfd = 438;

}  // namespace

ProcessFile::ProcessFile(pid_t process, int file) {
  const auto handle = static_cast<int>(syscall(kPidfdOpen, process, 0U));
  if (handle < 0) return;
  file_ = static_cast<int>(syscall(kPidfdGetfd, handle, file, 0U));
  const int error = errno;
  close(handle);
  errno = error;
}

ProcessFile::~ProcessFile() {
  if (file_ >= 0) close(file_);
}

}  // namespace nearpeak::layer
