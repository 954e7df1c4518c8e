// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/staging.hpp"

#include <algorithm>
#include <vector>

#include "transport/mpi/direct.hpp"

namespace nearpeak {
namespace {

// Messages are staged in host memory: one place for each that is open.
class Staging {
 public:
  Staging(const StagedEnd& end, const Messages& messages, const Buffers& buffers)
      : comm_(end.comm),
        peer_(messages.peer),
        device_(end.device),
        buffers_(buffers),
        out_(end.memory, messages.bytes, places(messages.sends, messages)),
        in_(end.memory, messages.bytes, places(messages.receives, messages)) {}

 protected:
  static constexpr int kTag = DirectTransport::kTag;

  MPI_Comm comm_;
  int peer_;
  Device* device_;  // null where nothing is staged
  Buffers buffers_;
  SlotBuffer out_;
  SlotBuffer in_;

 private:
  std::uint64_t places(bool used, const Messages& messages) const {
    return used && device_ != nullptr ? messages.window : 0;
  }
};

// Whole messages: copied to host memory and then sent, received and then copied to the device.
class WholeStaging final : public Transport, Staging {
 public:
  WholeStaging(const StagedEnd& end, const Messages& messages, const Buffers& buffers)
      : Staging(end, messages, buffers) {
    sends_.reserve(messages.window);
    arrivals_.reserve(messages.window);
  }

  void begin_send(std::size_t slot, std::size_t bytes) override {
    const char* const host = copied_out(slot, bytes, sends_.size());
    MPI_Isend(host, static_cast<int>(bytes), MPI_BYTE, peer_, kTag, comm_, &sends_.emplace_back());
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    const Arrival arrival = place(slot, bytes, arrivals_.size());
    arrivals_.push_back(arrival);
    MPI_Irecv(arrival.host, static_cast<int>(bytes), MPI_BYTE, peer_, kTag, comm_,
              &arrivals_.back().request);
  }
  // Each message is copied to the device when it has come, in the order in which they were begun,
  // while later ones are on their way.
  void finish() override {
    for (Arrival& arrival : arrivals_) {
      MPI_Wait(&arrival.request, MPI_STATUS_IGNORE);
      copy_in(arrival);
    }
    MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
    arrivals_.clear();
    sends_.clear();
  }

  void send(std::size_t slot, std::size_t bytes) override {
    MPI_Send(copied_out(slot, bytes, 0), static_cast<int>(bytes), MPI_BYTE, peer_, kTag, comm_);
  }
  void receive(std::size_t slot, std::size_t bytes) override {
    const Arrival arrival = place(slot, bytes, 0);
    MPI_Recv(arrival.host, static_cast<int>(bytes), MPI_BYTE, peer_, kTag, comm_,
             MPI_STATUS_IGNORE);
    copy_in(arrival);
  }
  void exchange(std::size_t slot, std::size_t bytes) override {
    const Arrival arrival = place(slot, bytes, 0);
    MPI_Sendrecv(copied_out(slot, bytes, 0), static_cast<int>(bytes), MPI_BYTE, peer_, kTag,
                 arrival.host, static_cast<int>(bytes), MPI_BYTE, peer_, kTag, comm_,
                 MPI_STATUS_IGNORE);
    copy_in(arrival);
  }

 private:
  struct Arrival {
    char* data;  // in the benchmark's buffer
    char* host;  // where MPI puts it: the same where nothing is staged
    std::size_t bytes;
    MPI_Request request;
  };

  const char* copied_out(std::size_t slot, std::size_t bytes, std::size_t staging) {
    if (bytes == 0) return nullptr;
    const char* const data = buffers_.out.slot(slot);
    if (device_ == nullptr) return data;
    device_->copy(out_.slot(staging), data, bytes);
    return out_.slot(staging);
  }
  Arrival place(std::size_t slot, std::size_t bytes, std::size_t staging) {
    char* const data = bytes == 0 ? nullptr : buffers_.in.slot(slot);
    char* const host = device_ != nullptr && bytes > 0 ? in_.slot(staging) : data;
    return {data, host, bytes, MPI_REQUEST_NULL};
  }
  void copy_in(const Arrival& arrival) {
    if (arrival.host != arrival.data) device_->copy(arrival.data, arrival.host, arrival.bytes);
  }

  std::vector<MPI_Request> sends_;
  std::vector<Arrival> arrivals_;
};

// Chunks, each a message of its own: while one is sent, the next is copied to host memory; while
// one is copied to the device, the next is received.
class PipelinedStaging final : public Transport, Staging {
 public:
  PipelinedStaging(const StagedEnd& end, const Messages& messages, const Buffers& buffers)
      : Staging(end, messages, buffers) {
    const std::size_t chunks =
        messages.window * std::max<std::size_t>(1, (messages.bytes + kChunk - 1) / kChunk);
    sends_.reserve(chunks);
    send_requests_.reserve(chunks);
    arrivals_.reserve(chunks);
    receive_requests_.reserve(chunks);
    if (device_ == nullptr) return;
    to_host_ = device_->new_stream();
    to_device_ = device_->new_stream();
    for (std::size_t i = 0; messages.sends && i < chunks; ++i)
      copied_.push_back(device_->new_event());
  }

  void begin_send(std::size_t slot, std::size_t bytes) override {
    char* const data = bytes == 0 ? nullptr : buffers_.out.slot(slot);
    for_chunks(data, bytes, out_, sending_, [this](const Chunk& chunk) {
      if (chunk.host == chunk.data) return isend(chunk);
      Event& copied = *copied_[sends_.size()];
      device_->copy_async(chunk.host, chunk.data, chunk.bytes, *to_host_);
      copied.record(*to_host_);
      sends_.push_back(chunk);
    });
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    char* const data = bytes == 0 ? nullptr : buffers_.in.slot(slot);
    for_chunks(data, bytes, in_, receiving_, [this](const Chunk& chunk) {
      arrivals_.push_back(chunk);
      MPI_Irecv(chunk.host, static_cast<int>(chunk.bytes), MPI_BYTE, peer_, kTag, comm_,
                &receive_requests_.emplace_back());
    });
  }

  void finish() override {
    if (device_ != nullptr) move_chunks();
    MPI_Waitall(static_cast<int>(receive_requests_.size()), receive_requests_.data(),
                MPI_STATUSES_IGNORE);
    MPI_Waitall(static_cast<int>(send_requests_.size()), send_requests_.data(),
                MPI_STATUSES_IGNORE);
    if (device_ != nullptr && !arrivals_.empty()) to_device_->synchronize();
    sending_ = receiving_ = oldest_ = 0;
    sends_.clear();
    arrivals_.clear();
    send_requests_.clear();
    receive_requests_.clear();
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{512} << 10;

  struct Chunk {
    char* data;  // in the benchmark's buffer
    char* host;  // what MPI sees: the same where nothing is staged
    std::size_t bytes;
  };

  // Each message with bytes takes the next place in the staging memory.
  template <class Use>
  void for_chunks(char* data, std::size_t bytes, const SlotBuffer& staging, std::size_t& message,
                  Use use) {
    char* host = data;
    if (device_ != nullptr && bytes > 0) host = staging.slot(message++);
    std::size_t done = 0;
    do {
      const std::size_t part = std::min(kChunk, bytes - done);
      use(Chunk{data + done, host + done, part});
      done += part;
    } while (done < bytes);
  }

  void isend(const Chunk& chunk) {
    MPI_Isend(chunk.host, static_cast<int>(chunk.bytes), MPI_BYTE, peer_, kTag, comm_,
              &send_requests_.emplace_back());
  }

  void move_chunks() {
    std::size_t sent = 0;
    std::size_t arrived = 0;
    while (sent < sends_.size() || arrived < arrivals_.size()) {
      if (sent < sends_.size() && copied_[sent]->reached()) isend(sends_[sent++]);
      if (arrived == arrivals_.size()) {
        progress_sends();
        continue;
      }
      int over = 0;
      MPI_Test(&receive_requests_[arrived], &over, MPI_STATUS_IGNORE);
      if (over == 0) continue;
      const Chunk& chunk = arrivals_[arrived++];
      if (chunk.host != chunk.data)
        device_->copy_async(chunk.data, chunk.host, chunk.bytes, *to_device_);
    }
  }

  // MPI moves data while it is called.
  void progress_sends() {
    if (oldest_ == send_requests_.size()) return;
    int over = 0;
    MPI_Test(&send_requests_[oldest_], &over, MPI_STATUS_IGNORE);
    if (over != 0) ++oldest_;
  }

  std::unique_ptr<Stream> to_host_;
  std::unique_ptr<Stream> to_device_;
  std::vector<std::unique_ptr<Event>> copied_;  // of each chunk that is sent
  std::size_t sending_ = 0;                     // messages begun
  std::size_t receiving_ = 0;
  std::vector<Chunk> sends_;
  std::vector<Chunk> arrivals_;
  std::vector<MPI_Request> send_requests_;
  std::vector<MPI_Request> receive_requests_;
  std::size_t oldest_ = 0;  // of the send requests that may not be over
};

}  // namespace

std::unique_ptr<Transport> whole_staging(const StagedEnd& end, const Messages& messages,
                                         const Buffers& buffers) {
  return std::make_unique<WholeStaging>(end, messages, buffers);
}

std::unique_ptr<Transport> pipelined_staging(const StagedEnd& end, const Messages& messages,
                                             const Buffers& buffers) {
  return std::make_unique<PipelinedStaging>(end, messages, buffers);
}

}  // namespace nearpeak
