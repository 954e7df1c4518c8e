// SPDX-License-Identifier: Apache-2.0
// The axis `staging`: what a program does whose MPI library knows nothing of accelerators. It
// copies between device and host memory itself, in the time that is measured. The methods are those
// of Direct (direct.hpp). A rank whose buffers the CPU owns (H, P) copies nothing.
#pragma once

#include <memory>
#include <vector>

#include "pt2pt/direct.hpp"

namespace nearpeak {

// Whole messages: copied to host memory and then sent, received and then copied to the device.
class WholeStaging {
 public:
  WholeStaging(const CaseContext& context, std::uint64_t sends, std::uint64_t receives);

  void send(const char* data, int bytes);
  void receive(char* data, int bytes);
  void exchange(const char* out, char* in, int bytes);
  void begin_send(const char* data, int bytes);
  void begin_receive(char* data, int bytes);
  // Each message is copied to the device when it has come, in the order in which they were begun,
  // while later ones are on their way.
  void finish();
  void finish_one() { finish(); }

 private:
  struct Arrival {
    char* data;
    const char* host;
    std::size_t bytes;
    MPI_Request request;
  };
  const char* copied_out(const char* data, int bytes, std::size_t slot);

  static constexpr int kTag = 1;

  MPI_Comm comm_;
  int peer_;
  Device* device_;  // null where nothing is staged
  SlotBuffer out_;
  SlotBuffer in_;
  std::vector<MPI_Request> sends_;
  std::vector<Arrival> arrivals_;
};

// Chunks, each a message of its own: while one is sent, the next is copied to host memory; while
// one is copied to the device, the next is received.
class PipelinedStaging {
 public:
  static constexpr std::size_t kChunk = std::size_t{512} << 10;

  PipelinedStaging(const CaseContext& context, std::uint64_t sends, std::uint64_t receives);

  void send(const char* data, int bytes) {
    begin_send(data, bytes);
    finish();
  }
  void receive(char* data, int bytes) {
    begin_receive(data, bytes);
    finish();
  }
  void exchange(const char* out, char* in, int bytes) {
    begin_receive(in, bytes);
    begin_send(out, bytes);
    finish();
  }
  void begin_send(const char* data, int bytes);
  void begin_receive(char* data, int bytes);
  void finish();
  void finish_one() { finish(); }

 private:
  struct Chunk {
    char* data;  // in the benchmark's buffer
    char* host;  // what MPI sees: the same where nothing is staged
    int bytes;
  };
  // Of a message that is the `message`th begun.
  template <class Use>
  void for_chunks(const char* data, int bytes, const SlotBuffer& staging, std::size_t message,
                  Use use);
  void isend(const Chunk& chunk);
  void progress_sends();

  static constexpr int kTag = 1;

  MPI_Comm comm_;
  int peer_;
  Device* device_;  // null where nothing is staged
  SlotBuffer out_;
  SlotBuffer in_;
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

inline constexpr const char* kStaging = "staging";
inline Axis staging_axis() {
  return {kStaging,
          {"none", "pageable", "pinned", "pipelined"},
          "none: MPI is given the buffers as they are; pageable, pinned: device buffers are copied "
          "to and from such host memory around the MPI calls; pipelined: so are their chunks of "
          "512 KiB, copied while others are on their way"};
}

// A point-to-point benchmark on the road that the axis names.
template <template <class> class Benchmark>
std::unique_ptr<Case> on_road(const CaseContext& context) {
  const std::string& staging = context.axes.at(kStaging);
  if (staging == "none") return std::make_unique<Benchmark<Direct>>(context);
  if (staging == "pipelined") return std::make_unique<Benchmark<PipelinedStaging>>(context);
  return std::make_unique<Benchmark<WholeStaging>>(context);
}

}  // namespace nearpeak
