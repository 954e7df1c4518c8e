// SPDX-License-Identifier: Apache-2.0
// Bytes between memory of a device and of the host, of this process or another: by the copy engine
// where the host's is pinned, else piece by piece through pinned memory of the layer's, so that the
// copy engine works while the CPU copies the next one. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "accel/accelerator.hpp"
#include "layer/copy/copy_helpers.hpp"
#include "layer/copy/process.hpp"
#include "layer/copy/watch.hpp"

namespace nearpeak::layer {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

// Pinned memory of a device's for some pieces.
class Pieces {
 public:
  // The helpers copy between pinned memory and other; null: there are none.
  explicit Pieces(Device& device, CopyHelpers* helpers = nullptr);
  ~Pieces();
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

 private:
  friend class Mover;
  struct Place {
    char* data = nullptr;
    std::unique_ptr<Event> copied;
    std::size_t offset = 0;  // of the piece in its message
    std::size_t bytes = 0;   // 0: it is free
  };
  static constexpr std::size_t kPlaces = 4;

  Device& device_;
  CopyHelpers* helpers_;
  char* memory_;
  std::unique_ptr<Stream> stream_;
  std::array<Place, kPlaces> places_;
  std::size_t next_ = 0;
};

enum class Direction { kToDevice, kFromDevice };

struct Ends {
  Direction direction;
  char* device;                      // as this process's device calls it
  char* host;                        // as its process calls it,
  const Process* process = nullptr;  // which is another one than this, or null
  Range pinned{};                    // a part of this process's host memory
};

class Mover {
 public:
  // `landed`: is told of each piece that has come from a device into memory that is not pinned.
  using Landed = std::function<void(std::size_t offset, std::size_t bytes)>;
  Mover(Pieces& pieces, const Ends& ends, Landed landed = nullptr)
      : pieces_(pieces), ends_(ends), landed_(std::move(landed)) {}

  // These bytes of the message; they are there after finish().
  void move(std::size_t offset, std::size_t bytes);
  void finish();

 private:
  void move_pinned(std::size_t offset, std::size_t bytes);
  void move_pieces(std::size_t offset, std::size_t bytes);
  void move_piece(std::size_t offset, std::size_t bytes);
  void land(Pieces::Place& place);
  void copy_by_cpu(char* pinned, char* host, std::size_t bytes);

  Pieces& pieces_;
  const Ends ends_;
  const Landed landed_;
};

}  // namespace nearpeak::layer
