// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/process_memory.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>
#include <system_error>

namespace nearpeak::layer {
namespace {

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

}  // namespace

void read_from(pid_t process, void* to, const void* from, std::size_t bytes) {
  all_of(process_vm_readv, "process_vm_readv", process, bytes_of(to), bytes_of(from), bytes);
}

void write_to(pid_t process, void* to, const void* from, std::size_t bytes) {
  all_of(process_vm_writev, "process_vm_writev", process, bytes_of(from), bytes_of(to), bytes);
}

bool can_read(pid_t process, const void* data, std::size_t bytes) {
  char first = 0, last = 0;
  try {
    read_from(process, &first, data, 1);
    read_from(process, &last, static_cast<const char*>(data) + bytes - 1, 1);
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void let_others_reach() {
#ifdef PR_SET_PTRACER
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // an error where there is nothing to choose
#endif
}

}  // namespace nearpeak::layer
