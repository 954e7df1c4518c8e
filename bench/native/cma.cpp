// SPDX-License-Identifier: Apache-2.0
// One copy by the kernel, out of the sender's private memory: process_vm_readv, which MPI libraries
// call CMA.
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "native/pull.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kSmallest = 1024;  // a system call costs more than copying fewer bytes twice

struct CmaPull {
  pid_t process;
  const char* slots;  // in that process
  std::size_t stride;
  std::size_t bytes;

  void offer(std::size_t) const {}
  void take(char* to, std::size_t slot) const {
    std::size_t done = 0;
    while (done < bytes) {
      const iovec local{to + done, bytes - done};
      const iovec remote{const_cast<char*>(slots) + slot * stride + done, bytes - done};
      const ssize_t count = process_vm_readv(process, &local, 1, &remote, 1, 0);
      if (count <= 0)
        throw std::runtime_error(std::string("process_vm_readv: ") + std::strerror(errno));
      done += static_cast<std::size_t>(count);
    }
  }
};

CmaPull pull_of(const PairEnd& end) {
  const auto& peer = end.memory.control().ends[end.exchange.peer()];
  return {peer.process, peer.out, end.stride, end.exchange.bytes};
}

// The kernel may forbid it: Yama's ptrace_scope, a container's seccomp filter.
std::optional<std::string> unavailable(const PairEnd& end) {
  if (!end.exchange.receives()) return std::nullopt;
  try {
    pull_of(end).take(end.in.slot(0), 0);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return std::nullopt;
}

const RegisterPairMethod entry({"cma", kSmallest, ~std::size_t{0}, no_inbox, unavailable,
                                [](const PairEnd& end) -> std::unique_ptr<Transfer> {
                                  return std::make_unique<PullTransfer<CmaPull>>(end, pull_of(end));
                                }});

}  // namespace
}  // namespace nearpeak
