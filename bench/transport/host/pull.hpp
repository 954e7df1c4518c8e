// SPDX-License-Identifier: Apache-2.0
// Single copies by the receiver, who knows where the sender's slots are: the sender only says that
// one more is ready.
#pragma once

#include <sys/types.h>

#include <stdexcept>

#include "accel/host/copy.hpp"
#include "transport/host/host.hpp"

namespace nearpeak {

// Pull has void take(char* to, std::size_t slot, std::size_t bytes), which copies from the other's
// slot, and throws when it cannot.
template <class Pull>
class PullTransport final : public Transport {
 public:
  PullTransport(const HostEnd& end, Pull pull)
      : pull_(pull),
        in_(end.in.slot(0)),
        stride_(end.stride),
        wait_(end.wait),
        posted_(end.own.control().posted),
        peer_posted_(end.peer.control().posted) {
    end.reset();
  }

  void begin_send(std::size_t, std::size_t) override { posted_.tell(++sent_); }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    receives_.push({slot, bytes});
  }
  void finish() override {
    for (; !receives_.empty(); receives_.pop())
      take(receives_.front().slot, receives_.front().bytes);
  }
  void send(std::size_t, std::size_t) override { posted_.tell(++sent_); }
  void receive(std::size_t slot, std::size_t bytes) override { take(slot, bytes); }

 private:
  void take(std::size_t slot, std::size_t bytes) {
    ++received_;
    wait_until(wait_, [&] { return peer_posted_.told() >= received_; });
    if (bytes > 0) pull_.take(in_ + slot * stride_, slot, bytes);
  }

  const Pull pull_;
  char* const in_;
  const std::size_t stride_;
  const Wait wait_;
  Counter& posted_;
  const Counter& peer_posted_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  OpenMessages receives_;
};

// The sender's slots are in memory that both have mapped, as XPMEM gives it to an MPI library.
struct Mapped {
  const char* slots;
  std::size_t stride;
  CopyFunction copy;

  void take(char* to, std::size_t slot, std::size_t bytes) const {
    copy(to, slots + slot * stride, bytes);
  }
};

// The kernel copies out of the sender's private memory: process_vm_readv, which MPI libraries call
// CMA.
struct Cma {
  pid_t process;
  const char* slots;  // in that process
  std::size_t stride;

  void take(char* to, std::size_t slot, std::size_t bytes) const;  // throws std::runtime_error
};

}  // namespace nearpeak
