// SPDX-License-Identifier: Apache-2.0
// Messages between two devices through pinned host memory that both processes have mapped: where
// the devices cannot reach each other, what is left, and at times the quicker way. The sender's
// device writes a message into the stage chunk by chunk, while the receiver's takes out the chunks
// before.
#include <algorithm>
#include <vector>

#include "transport/gpu/gpu.hpp"

namespace nearpeak {
namespace {

// One direction at one end: chunks by number.
class Lane {
 public:
  Lane(Device& device, char* stage, std::size_t chunk_bytes, std::size_t places)
      : device_(device),
        stage_(stage),
        chunk_bytes_(chunk_bytes),
        places_(places),
        stream_(device.new_stream()) {
    for (std::size_t i = 0; i < places; ++i) events_.push_back(device.new_event());
  }

  void push(char* message, std::size_t bytes) {
    std::size_t done = 0;
    do {
      const std::size_t part = std::min(chunk_bytes_, bytes - done);
      chunks_.push_back({message + done, part});
      done += part;
    } while (done < bytes);
  }

  bool over() const { return finished_ == begun_ + chunks_.size(); }
  void clear() {
    begun_ = finished_;
    chunks_.clear();
  }

  // Starts the next chunk if fewer than `limit` were started before, and tells of the oldest that
  // is through.
  void step(std::uint64_t limit, bool out, Counter& told) {
    if (started_ < begun_ + chunks_.size() && started_ < limit && started_ < finished_ + places_)
      start(out);
    if (finished_ == started_) return;
    const bool empty = chunks_[finished_ - begun_].bytes == 0;
    if (empty || events_[finished_ % places_]->reached()) told.tell(++finished_);
  }

 private:
  struct Chunk {
    char* data;
    std::size_t bytes;
  };

  void start(bool out) {
    const Chunk& chunk = chunks_[started_ - begun_];
    const std::size_t place = started_++ % places_;
    if (chunk.bytes == 0) return;
    char* const stage = stage_ + place * chunk_bytes_;
    device_.copy_async(out ? stage : chunk.data, out ? chunk.data : stage, chunk.bytes, *stream_);
    events_[place]->record(*stream_);
  }

  Device& device_;
  char* stage_;
  const std::size_t chunk_bytes_;
  const std::size_t places_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Event>> events_;  // of each place in the stage
  std::vector<Chunk> chunks_;                   // of the messages that are open
  std::uint64_t begun_ = 0;                     // chunks before those
  std::uint64_t started_ = 0;
  std::uint64_t finished_ = 0;
};

class StagedTransport final : public Transport {
 public:
  StagedTransport(const GpuEnd& end, std::size_t chunk_bytes)
      : end_(end),
        places_(std::min(kMostPlaces, Stages::kBytes / chunk_bytes)),
        out_(*end.device, static_cast<char*>(end.stages.own->on_device()), chunk_bytes, places_),
        in_(*end.device, static_cast<char*>(end.stages.peer->on_device()), chunk_bytes, places_) {
    end.reset();
  }

  void begin_send(std::size_t slot, std::size_t bytes) override {
    out_.push(bytes == 0 ? nullptr : end_.out.slot(slot), bytes);
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    in_.push(bytes == 0 ? nullptr : end_.in.slot(slot), bytes);
  }
  void finish() override {
    auto& own = end_.own.control();
    const auto& peer = end_.peer.control();
    wait_until(end_.wait, [&] {
      out_.step(peer.taken.told() + places_, true, own.posted);
      in_.step(peer.posted.told(), false, own.taken);
      return out_.over() && in_.over();
    });
    out_.clear();
    in_.clear();
  }

 private:
  static constexpr std::size_t kMostPlaces = 16;

  const GpuEnd& end_;
  const std::size_t places_;  // chunks that a stage has room for
  Lane out_;
  Lane in_;
};

GpuMethod staged(const std::string& name, std::size_t chunk_bytes) {
  return {
      .name = name,
      .applies = [](const GpuEnd& end) { return end.both_on_devices() && end.messages.bytes > 0; },
      .unavailable = [](const GpuEnd& end) { return end.stages.why_none; },
      .make =
          [chunk_bytes](const GpuEnd& end) {
            return std::make_unique<StagedTransport>(end, chunk_bytes);
          }};
}

const RegisterGpuMethod small(staged("staged-128K", std::size_t{128} << 10));
const RegisterGpuMethod large(staged("staged-1M", std::size_t{1} << 20));

}  // namespace
}  // namespace nearpeak
