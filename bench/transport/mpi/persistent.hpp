// SPDX-License-Identifier: Apache-2.0
// Messages by MPI through requests that are made once and started for every message (MPI 4,
// section 3.9). What is called one by one is as in DirectTransport.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "transport/mpi/direct.hpp"
#include "transport/transport.hpp"

namespace nearpeak {

// Requests that were started, until all are complete. The handles of persistent requests stay.
class Started {
 public:
  explicit Started(std::uint64_t most) : requests_(most) {}
  void start(MPI_Request& request) {
    MPI_Start(&request);
    requests_[open_++] = request;
  }
  void finish() {
    if (open_ == 1)
      MPI_Wait(requests_.data(), MPI_STATUS_IGNORE);
    else
      MPI_Waitall(open_, requests_.data(), MPI_STATUSES_IGNORE);
    open_ = 0;
  }

 private:
  std::vector<MPI_Request> requests_;
  int open_ = 0;
};

// Requests of one direction, each of one message of a window: where all messages have one slot,
// each has a request of its own nevertheless.
class RequestsOfSlots {
 public:
  // make(slot, request) makes the request of a slot.
  template <class Make>
  RequestsOfSlots(const Messages& messages, bool used, Make make)
      : requests_(used ? std::max(messages.slots, messages.window) : 0, MPI_REQUEST_NULL),
        one_slot_(messages.slots < messages.window) {
    for (std::size_t i = 0; i < requests_.size(); ++i) make(one_slot_ ? 0 : i, requests_[i]);
  }
  ~RequestsOfSlots() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  RequestsOfSlots(const RequestsOfSlots&) = delete;
  RequestsOfSlots& operator=(const RequestsOfSlots&) = delete;

  MPI_Request& next(std::size_t slot) { return requests_[one_slot_ ? open_++ : slot]; }
  void finish() { open_ = 0; }

 private:
  std::vector<MPI_Request> requests_;
  const bool one_slot_;
  std::size_t open_ = 0;
};

// Why there cannot be a request for each slot; empty where there can.
inline constexpr std::uint64_t kMostRequests = std::uint64_t{1} << 16;  // of 1 KB in a library
inline std::string why_no_requests(std::uint64_t slots, std::uint64_t most = kMostRequests) {
  if (slots <= most) return "";
  return "a request for each of " + std::to_string(slots) +
         " buffers is too many: larger messages or --reuse fixed have fewer";
}

class PersistentTransport final : public Transport {
 public:
  PersistentTransport(MPI_Comm comm, const Messages& messages, const Buffers& buffers)
      : one_by_one_(comm, messages, buffers),
        sends_(messages, messages.sends,
               [&](std::size_t slot, MPI_Request& request) {
                 MPI_Send_init(buffers.out.slot(slot), static_cast<int>(messages.bytes), MPI_BYTE,
                               messages.peer, DirectTransport::kTag, comm, &request);
               }),
        receives_(messages, messages.receives,
                  [&](std::size_t slot, MPI_Request& request) {
                    MPI_Recv_init(buffers.in.slot(slot), static_cast<int>(messages.bytes), MPI_BYTE,
                                  messages.peer, DirectTransport::kTag, comm, &request);
                  }),
        started_(2 * messages.window) {
    MPI_Send_init(nullptr, 0, MPI_BYTE, messages.peer, DirectTransport::kTag, comm, &empty_send_);
    MPI_Recv_init(nullptr, 0, MPI_BYTE, messages.peer, DirectTransport::kTag, comm,
                  &empty_receive_);
  }
  ~PersistentTransport() override {
    MPI_Request_free(&empty_send_);
    MPI_Request_free(&empty_receive_);
  }
  PersistentTransport(const PersistentTransport&) = delete;
  PersistentTransport& operator=(const PersistentTransport&) = delete;

  void begin_send(std::size_t slot, std::size_t bytes) override {
    started_.start(bytes == 0 ? empty_send_ : sends_.next(slot));
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    started_.start(bytes == 0 ? empty_receive_ : receives_.next(slot));
  }
  void finish() override {
    started_.finish();
    sends_.finish();
    receives_.finish();
  }
  void send(std::size_t slot, std::size_t bytes) override { one_by_one_.send(slot, bytes); }
  void receive(std::size_t slot, std::size_t bytes) override { one_by_one_.receive(slot, bytes); }
  void exchange(std::size_t slot, std::size_t bytes) override { one_by_one_.exchange(slot, bytes); }

 private:
  DirectTransport one_by_one_;
  RequestsOfSlots sends_;
  RequestsOfSlots receives_;
  MPI_Request empty_send_ = MPI_REQUEST_NULL;  // one at a time
  MPI_Request empty_receive_ = MPI_REQUEST_NULL;
  Started started_;
};

}  // namespace nearpeak
