// SPDX-License-Identifier: Apache-2.0
// A file that another process of this machine has open, whatever kind of file it is: those of
// drivers cannot be opened by /proc/PID/fd.
#pragma once

#include <sys/types.h>

namespace nearpeak::layer {

// Closed at the end.
class ProcessFile {
 public:
  ProcessFile(pid_t process, int file);
  ~ProcessFile();
  ProcessFile(const ProcessFile&) = delete;
  ProcessFile& operator=(const ProcessFile&) = delete;

  // Else errno says why not: an old kernel, or the system lets no process do it.
  explicit operator bool() const { return file_ >= 0; }
  int file() const { return file_; }

 private:
  int file_ = -1;
};

}  // namespace nearpeak::layer
