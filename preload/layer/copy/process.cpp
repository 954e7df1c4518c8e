// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>

namespace nearpeak::layer {
namespace {

// By number: the C library may be older than they are. They are the same on all machines.
constexpr long kPidfdOpen = 434;
constexpr long kPidfdGetfd = 438;

using Move = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long);

// A call may do a part.
void all_of(Move move, const char* name, pid_t process, char* here, char* there,
            std::size_t bytes) {
  while (bytes > 0) {
    const iovec own{here, bytes}, other{there, bytes};
    const ssize_t done = move(process, &own, 1, &other, 1, 0);
    if (done <= 0)
      throw std::system_error(done < 0 ? errno : EFAULT, std::generic_category(), name);
    here += done;
    there += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

char* bytes_of(const void* data) {
  return static_cast<char*>(const_cast<void*>(data));  // NOLINT: the call's own type
}

class NumberedProcess final : public Process {
 public:
  explicit NumberedProcess(pid_t number) : number_(number) {}

  void read(void* to, const void* from, std::size_t bytes) const override {
    all_of(process_vm_readv, "process_vm_readv", number_, bytes_of(to), bytes_of(from), bytes);
  }
  void write(void* to, const void* from, std::size_t bytes) const override {
    all_of(process_vm_writev, "process_vm_writev", number_, bytes_of(from), bytes_of(to), bytes);
  }
  // Those of drivers cannot be opened by /proc/PID/fd.
  File file(int number) const override {
    const File handle = open_process(number_);
    if (!handle) return {};
    return File(static_cast<int>(syscall(kPidfdGetfd, handle.number(), number, 0U)));
  }
  File memory(int number) const override {
    const std::string name = "/proc/" + std::to_string(number_) + "/fd/" + std::to_string(number);
    return File(open(name.c_str(), O_RDWR | O_CLOEXEC));
  }
  bool has_ended() const override { return kill(number_, 0) != 0 && errno == ESRCH; }
  bool has_number() const override { return true; }

 private:
  pid_t number_;
};

}  // namespace

File::~File() {
  if (number_ < 0) return;
  const int error = errno;
  close(number_);
  errno = error;
}

File open_process(pid_t number) { return File(static_cast<int>(syscall(kPidfdOpen, number, 0U))); }

std::unique_ptr<Process> process_of(pid_t number) {
  return std::make_unique<NumberedProcess>(number);
}

bool can_read(const Process& process, const void* data, std::size_t bytes) {
  char first = 0, last = 0;
  try {
    process.read(&first, data, 1);
    process.read(&last, static_cast<const char*>(data) + bytes - 1, 1);
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

bool can_read_own(const void* data, std::size_t bytes) {
  return can_read(NumberedProcess(getpid()), data, bytes);
}

void let_others_reach() {
#ifdef PR_SET_PTRACER
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // an error where there is nothing to choose
#endif
}

}  // namespace nearpeak::layer
