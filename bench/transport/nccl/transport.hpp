// SPDX-License-Identifier: Apache-2.0
// Messages by ncclSend and ncclRecv: what is begun before finish() is one group.
#pragma once

#include "transport/nccl/communicator.hpp"
#include "transport/transport.hpp"

namespace nearpeak::nccl {

class NcclTransport final : public Transport {
 public:
  NcclTransport(const Communicator& comm, const Messages& messages, const Buffers& buffers)
      : comm_(comm), peer_(messages.peer), out_(buffers.out), in_(buffers.in) {}

  void begin_send(std::size_t slot, std::size_t bytes) override {
    open();
    const char* const from = bytes == 0 ? comm_.empty_out() : out_.slot(slot);
    comm_.call("ncclSend", comm_.api().ncclSend, from, count(bytes), kInt8, peer_);
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    open();
    char* const to = bytes == 0 ? comm_.empty_in() : in_.slot(slot);
    comm_.call("ncclRecv", comm_.api().ncclRecv, to, count(bytes), kInt8, peer_);
  }
  void finish() override {
    if (!open_) return;
    comm_.end_group();
    open_ = false;
    comm_.synchronize();
  }

 private:
  static std::size_t count(std::size_t bytes) { return bytes == 0 ? 1 : bytes; }
  void open() {
    if (!open_) comm_.begin_group();
    open_ = true;
  }

  const Communicator& comm_;
  const int peer_;
  const SlotBuffer& out_;
  const SlotBuffer& in_;
  bool open_ = false;
};

}  // namespace nearpeak::nccl
