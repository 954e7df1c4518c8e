// SPDX-License-Identifier: Apache-2.0
// A process of this machine and user, its memory and its files, for which it need not do anything.
// Addresses and file numbers are that process's own.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace nearpeak::layer {

// A file descriptor, closed at the end.
class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_ = -1;
};

class Process {
 public:
  virtual ~Process() = default;
  // Throw std::system_error.
  virtual void read(void* to, const void* from, std::size_t bytes) const = 0;
  virtual void write(void* to, const void* from, std::size_t bytes) const = 0;
  // One of its files, whatever kind of file it is. Where there is none, errno says why: an old
  // kernel, or the system lets no process do it.
  virtual File file(int number) const = 0;
  // The same of shared memory, which more systems allow.
  virtual File memory(int number) const { return file(number); }
  // Before something is asked of it: then it is seen to end even if its children live on.
  virtual void watch() const {}
  virtual bool has_ended() const = 0;
  // Whether it is reached by its number. Of another one the number says nothing here: this process
  // itself may have the same.
  virtual bool has_number() const { return false; }
};

// That it is ready to read says that the process has ended. None in an old kernel.
File open_process(pid_t number);
// By its number, as this process's PID namespace has it.
std::unique_ptr<Process> process_of(pid_t number);
// Whether this process may read and write memory there of that kind.
bool can_read(const Process& process, const void* data, std::size_t bytes);
// The same of its own: of some memory the system lets nobody.
bool can_read_own(const void* data, std::size_t bytes);
// Where the system lets a process choose who may: all of this user.
void let_others_reach();

}  // namespace nearpeak::layer
