// SPDX-License-Identifier: Apache-2.0
// Messages between two devices through pinned host memory that both processes have mapped: where
// the devices cannot reach each other, what is left, and at times the quicker way.
#include <algorithm>
#include <vector>

#include "native/gpu.hpp"

namespace nearpeak {
namespace {

// The sender's device writes a window into the stage chunk by chunk, while the receiver's takes out
// the chunks before.
class StagedTransfer final : public RoundTransfer<StagedTransfer, GpuEnd> {
 public:
  StagedTransfer(const GpuEnd& end, std::size_t chunk_bytes)
      : RoundTransfer(end),
        chunk_bytes_(chunk_bytes),
        places_(std::min(kMostPlaces, Stages::kBytes / chunk_bytes)) {
    cut();
    end.posted().value.store(0);
    end.done().value.store(0);
    if (end.exchange.sends()) out_.open(*end.device, places_);
    if (end.exchange.receives()) in_.open(*end.device, places_);
  }

 private:
  friend RoundTransfer;

  static constexpr std::size_t kMostPlaces = 16;
  // A chunk of more small messages would be long under way before the receiver may begin.
  static constexpr std::size_t kMostPieces = 8;

  struct Piece {  // of a message, and where in its chunk
    std::uint64_t message;
    std::size_t offset;
    std::size_t bytes;
    std::size_t at;
  };

  // One direction at one end: chunks by number, over all rounds.
  struct Lane {
    std::uint64_t started = 0;
    std::uint64_t finished = 0;
    std::unique_ptr<Stream> stream;
    std::vector<std::unique_ptr<Event>> events;  // of each place in the stage

    void open(Device& device, std::size_t places) {
      stream = device.new_stream();
      for (std::size_t i = 0; i < places; ++i) events.push_back(device.new_event());
    }
  };

  void cut() {
    const Exchange& exchange = end_.exchange;
    std::size_t filled = chunk_bytes_;
    for (std::uint64_t message = 0; message < exchange.window; ++message)
      for (std::size_t offset = 0; offset < exchange.bytes; offset += chunk_bytes_) {
        const std::size_t bytes = std::min(chunk_bytes_, exchange.bytes - offset);
        if (filled + bytes > chunk_bytes_ || chunks_.back().size() == kMostPieces) {
          chunks_.emplace_back();
          filled = 0;
        }
        chunks_.back().push_back({message, offset, bytes, filled});
        filled = std::min(filled + SlotBuffer::stride(bytes), chunk_bytes_);
      }
  }

  std::uint64_t goal() const { return round_ * chunks_.size(); }
  std::size_t place(std::uint64_t chunk) const { return chunk % places_; }

  void start(Lane& lane, int sender) {
    const bool out = sender == end_.exchange.rank;
    char* const stage = end_.stages.at(sender) + place(lane.started) * chunk_bytes_;
    for (const Piece& piece : chunks_[lane.started % chunks_.size()]) {
      char* const message =
          (out ? end_.out : end_.in).slot(slots_.first() + piece.message) + piece.offset;
      end_.device->copy_async(out ? stage + piece.at : message, out ? message : stage + piece.at,
                              piece.bytes, *lane.stream);
    }
    lane.events[place(lane.started)]->record(*lane.stream);
    ++lane.started;
  }

  // Tells the other end of one more chunk that is through.
  void finish(Lane& lane, Counter& told) {
    if (lane.finished == lane.started || !lane.events[place(lane.finished)]->reached()) return;
    told.value.store(++lane.finished, std::memory_order_release);
  }

  // A step each; whether the round's chunks are all through.
  bool send() {
    const auto taken = [this] { return end_.peer_done().value.load(std::memory_order_acquire); };
    if (out_.started < goal() && out_.started < taken() + places_) start(out_, end_.exchange.rank);
    finish(out_, end_.posted());
    return out_.finished == goal();
  }
  bool receive() {
    if (in_.started < goal() &&
        in_.started < end_.peer_posted().value.load(std::memory_order_acquire))
      start(in_, end_.exchange.peer());
    finish(in_, end_.done());
    return in_.finished == goal();
  }
  void await_taken() {
    end_.wait.until(
        [this] { return end_.peer_done().value.load(std::memory_order_acquire) >= goal(); });
  }

  void ping_pong() {
    if (end_.exchange.rank == 0) end_.wait.until([this] { return send(); });
    end_.wait.until([this] { return receive(); });
    if (end_.exchange.rank == 1) end_.wait.until([this] { return send(); });
  }

  void one_way() {
    if (end_.exchange.rank == 0) {
      end_.wait.until([this] { return send(); });
      await_taken();
    } else {
      end_.wait.until([this] { return receive(); });
    }
  }

  void both_ways() {
    end_.wait.until([this] {
      const bool sent = send();
      return receive() && sent;
    });
    await_taken();
  }

  std::size_t chunk_bytes_;
  std::size_t places_;                      // chunks that the stage has room for
  std::vector<std::vector<Piece>> chunks_;  // of a round
  Lane out_;
  Lane in_;
};

GpuMethod staged(const std::string& name, std::size_t chunk_bytes) {
  return {name,
          [](const Exchange& exchange, const BufferKinds& kinds) {
            return on_device(kinds[0]) && on_device(kinds[1]) && exchange.bytes > 0;
          },
          [](const GpuEnd& end) { return end.stages.why_none; },
          [chunk_bytes](const GpuEnd& end) -> std::unique_ptr<Transfer> {
            return std::make_unique<StagedTransfer>(end, chunk_bytes);
          }};
}

}  // namespace

std::vector<GpuMethod> gpu_staged_methods() {
  return {staged("staged-128K", std::size_t{128} << 10), staged("staged-1M", std::size_t{1} << 20)};
}

}  // namespace nearpeak
