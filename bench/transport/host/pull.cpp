// SPDX-License-Identifier: Apache-2.0
#include "transport/host/pull.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace nearpeak {

void Cma::take(char* to, std::size_t slot, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes;) {
    const iovec local{to + done, bytes - done};
    const iovec remote{const_cast<char*>(slots) + slot * stride + done, bytes - done};
    const ssize_t count = process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (count <= 0)
      throw std::runtime_error(std::string("process_vm_readv: ") + std::strerror(errno));
    done += static_cast<std::size_t>(count);
  }
}

namespace {

const std::vector<RegisterHostMethod> mapped = [] {
  std::vector<RegisterHostMethod> out;
  for (const CopyKind& kind : copy_kinds())
    out.emplace_back(HostMethod{
        .name = kind.name == "memcpy" ? "mapped" : "mapped-" + kind.name,
        .applies = [kind](const Messages& messages) { return messages.bytes >= kind.smallest; },
        .make =
            [kind](const HostEnd& end) {
              return std::make_unique<PullTransport<Mapped>>(
                  end, Mapped{end.peer.out.data(), end.stride, kind.copy});
            },
        .shared_out = true});
  return out;
}();

Cma cma_of(const HostEnd& end) {
  const auto& peer = end.peer.control();
  return {peer.process, peer.out, end.stride};
}

// The kernel may forbid it: Yama's ptrace_scope, a container's seccomp filter.
std::string why_no_cma(const HostEnd& end) {
  try {
    if (end.messages.receives) cma_of(end).take(end.in.slot(0), 0, end.messages.bytes);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// A system call costs more than copying fewer bytes twice.
constexpr std::size_t kSmallest = 1024;

const RegisterHostMethod cma(
    {.name = "cma",
     .applies = [](const Messages& messages) { return messages.bytes >= kSmallest; },
     .make =
         [](const HostEnd& end) { return std::make_unique<PullTransport<Cma>>(end, cma_of(end)); },
     .unavailable = why_no_cma});

}  // namespace
}  // namespace nearpeak
