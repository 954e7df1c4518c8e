// SPDX-License-Identifier: Apache-2.0
#include "pt2pt/staging.hpp"

#include <algorithm>

namespace nearpeak {
namespace {

Device* staging_device(const CaseContext& context) {
  return on_device(context.kind) ? context.device : nullptr;
}

// Host memory for this many messages, or for none where nothing is staged.
SlotBuffer staging_buffer(const CaseContext& context, std::uint64_t messages) {
  Device* const device = staging_device(context);
  const bool pinned = device != nullptr && context.axes.at(kStaging) != "pageable";
  Memory& memory = pinned ? device->memory(BufferKind::kPinned) : host_memory();
  return {memory, context.size_bytes, device != nullptr ? messages : 0};
}

std::size_t chunks_of(std::size_t bytes) {
  constexpr std::size_t kChunk = PipelinedStaging::kChunk;
  return std::max<std::size_t>(1, (bytes + kChunk - 1) / kChunk);
}

}  // namespace

WholeStaging::WholeStaging(const CaseContext& context, std::uint64_t sends, std::uint64_t receives)
    : comm_(context.comm),
      peer_(1 - context.rank),
      device_(staging_device(context)),
      out_(staging_buffer(context, sends)),
      in_(staging_buffer(context, receives)) {
  sends_.reserve(sends);
  arrivals_.reserve(receives);
}

const char* WholeStaging::copied_out(const char* data, int bytes, std::size_t slot) {
  if (device_ == nullptr || bytes == 0) return data;
  device_->copy(out_.slot(slot), data, static_cast<std::size_t>(bytes));
  return out_.slot(slot);
}

void WholeStaging::send(const char* data, int bytes) {
  MPI_Send(copied_out(data, bytes, 0), bytes, MPI_BYTE, peer_, kTag, comm_);
}

void WholeStaging::receive(char* data, int bytes) {
  const bool staged = device_ != nullptr && bytes > 0;
  char* const host = staged ? in_.slot(0) : data;
  MPI_Recv(host, bytes, MPI_BYTE, peer_, kTag, comm_, MPI_STATUS_IGNORE);
  if (staged) device_->copy(data, host, static_cast<std::size_t>(bytes));
}

void WholeStaging::exchange(const char* out, char* in, int bytes) {
  const bool staged = device_ != nullptr && bytes > 0;
  char* const host = staged ? in_.slot(0) : in;
  MPI_Sendrecv(copied_out(out, bytes, 0), bytes, MPI_BYTE, peer_, kTag, host, bytes, MPI_BYTE,
               peer_, kTag, comm_, MPI_STATUS_IGNORE);
  if (staged) device_->copy(in, host, static_cast<std::size_t>(bytes));
}

void WholeStaging::begin_send(const char* data, int bytes) {
  const char* const host = copied_out(data, bytes, sends_.size());
  MPI_Isend(host, bytes, MPI_BYTE, peer_, kTag, comm_, &sends_.emplace_back());
}

void WholeStaging::begin_receive(char* data, int bytes) {
  char* const host = device_ != nullptr && bytes > 0 ? in_.slot(arrivals_.size()) : data;
  Arrival& next = arrivals_.emplace_back(
      Arrival{data, host, static_cast<std::size_t>(bytes), MPI_REQUEST_NULL});
  MPI_Irecv(host, bytes, MPI_BYTE, peer_, kTag, comm_, &next.request);
}

void WholeStaging::finish() {
  for (Arrival& arrival : arrivals_) {
    MPI_Wait(&arrival.request, MPI_STATUS_IGNORE);
    if (arrival.host != arrival.data) device_->copy(arrival.data, arrival.host, arrival.bytes);
  }
  MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
  arrivals_.clear();
  sends_.clear();
}

PipelinedStaging::PipelinedStaging(const CaseContext& context, std::uint64_t sends,
                                   std::uint64_t receives)
    : comm_(context.comm),
      peer_(1 - context.rank),
      device_(staging_device(context)),
      out_(staging_buffer(context, sends)),
      in_(staging_buffer(context, receives)) {
  const std::size_t chunks = chunks_of(context.size_bytes);
  sends_.reserve(sends * chunks);
  send_requests_.reserve(sends * chunks);
  arrivals_.reserve(receives * chunks);
  receive_requests_.reserve(receives * chunks);
  if (device_ == nullptr) return;
  to_host_ = device_->new_stream();
  to_device_ = device_->new_stream();
  for (std::size_t i = 0; i < sends * chunks; ++i) copied_.push_back(device_->new_event());
}

template <class Use>
void PipelinedStaging::for_chunks(const char* data, int bytes, const SlotBuffer& staging,
                                  std::size_t message, Use use) {
  const bool staged = device_ != nullptr && bytes > 0;
  const auto whole = static_cast<std::size_t>(bytes);
  std::size_t done = 0;
  do {
    char* const here = const_cast<char*>(data) + done;
    const std::size_t part = std::min(kChunk, whole - done);
    use(Chunk{here, staged ? staging.slot(message) + done : here, static_cast<int>(part)});
    done += part;
  } while (done < whole);
}

void PipelinedStaging::isend(const Chunk& chunk) {
  MPI_Isend(chunk.host, chunk.bytes, MPI_BYTE, peer_, kTag, comm_, &send_requests_.emplace_back());
}

void PipelinedStaging::begin_send(const char* data, int bytes) {
  for_chunks(data, bytes, out_, sending_++, [this](const Chunk& chunk) {
    if (chunk.host == chunk.data) return isend(chunk);
    Event& copied = *copied_[sends_.size()];
    device_->copy_async(chunk.host, chunk.data, static_cast<std::size_t>(chunk.bytes), *to_host_);
    copied.record(*to_host_);
    sends_.push_back(chunk);
  });
}

void PipelinedStaging::begin_receive(char* data, int bytes) {
  for_chunks(data, bytes, in_, receiving_++, [this](const Chunk& chunk) {
    arrivals_.push_back(chunk);
    MPI_Irecv(chunk.host, chunk.bytes, MPI_BYTE, peer_, kTag, comm_,
              &receive_requests_.emplace_back());
  });
}

// MPI moves data while it is called.
void PipelinedStaging::progress_sends() {
  if (oldest_ == send_requests_.size()) return;
  int over = 0;
  MPI_Test(&send_requests_[oldest_], &over, MPI_STATUS_IGNORE);
  if (over != 0) ++oldest_;
}

void PipelinedStaging::finish() {
  if (device_ != nullptr) {
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
        device_->copy_async(chunk.data, chunk.host, static_cast<std::size_t>(chunk.bytes),
                            *to_device_);
    }
  }
  MPI_Waitall(static_cast<int>(receive_requests_.size()), receive_requests_.data(),
              MPI_STATUSES_IGNORE);
  MPI_Waitall(static_cast<int>(send_requests_.size()), send_requests_.data(), MPI_STATUSES_IGNORE);
  if (device_ != nullptr && !arrivals_.empty()) to_device_->synchronize();
  sending_ = receiving_ = oldest_ = 0;
  sends_.clear();
  arrivals_.clear();
  send_requests_.clear();
  receive_requests_.clear();
}

}  // namespace nearpeak
