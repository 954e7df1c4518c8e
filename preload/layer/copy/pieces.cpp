// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/pieces.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nearpeak::layer {

Pieces::Pieces(Device& device, CopyHelpers* helpers)
    : device_(device),
      helpers_(helpers),
      memory_(
          static_cast<char*>(device.memory(BufferKind::kPinned).allocate(kPlaces * kPieceBytes))),
      stream_(device.new_stream()) {
  char* data = memory_;
  for (Place& place : places_) {
    place.data = data;
    place.copied = device.new_event();
    data += kPieceBytes;
  }
}

Pieces::~Pieces() { device_.memory(BufferKind::kPinned).release(memory_); }

void Mover::move(std::size_t offset, std::size_t bytes) {
  const Range whole{ends_.host + offset, ends_.host + offset + bytes};
  const Range pinned{std::max(whole.begin, ends_.pinned.begin),
                     std::min(whole.end, ends_.pinned.end)};
  if (ends_.process != nullptr || pinned.begin >= pinned.end) return move_pieces(offset, bytes);
  const auto before = static_cast<std::size_t>(pinned.begin - whole.begin);
  // The long part first: the CPU copies the ends meanwhile.
  move_pinned(offset + before, pinned.bytes());
  move_pieces(offset, before);
  move_pieces(offset + before + pinned.bytes(), static_cast<std::size_t>(whole.end - pinned.end));
}

void Mover::move_pinned(std::size_t offset, std::size_t bytes) {
  char* const device = ends_.device + offset;
  char* const host = ends_.host + offset;
  const bool up = ends_.direction == Direction::kToDevice;
  pieces_.device_.copy_async(up ? device : host, up ? host : device, bytes, *pieces_.stream_);
}

void Mover::move_pieces(std::size_t offset, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += kPieceBytes)
    move_piece(offset + done, std::min(kPieceBytes, bytes - done));
}

void Mover::move_piece(std::size_t offset, std::size_t bytes) {
  Pieces::Place& place = pieces_.places_[pieces_.next_++ % Pieces::kPlaces];
  land(place);
  place.offset = offset;
  place.bytes = bytes;
  char* const device = ends_.device + offset;
  char* const host = ends_.host + offset;
  if (ends_.direction == Direction::kToDevice) {
    copy_by_cpu(place.data, host, bytes);
    pieces_.device_.copy_async(device, place.data, bytes, *pieces_.stream_);
  } else {
    pieces_.device_.copy_async(place.data, device, bytes, *pieces_.stream_);
  }
  place.copied->record(*pieces_.stream_);
}

void Mover::copy_by_cpu(char* pinned, char* host, std::size_t bytes) {
  const auto copy = [&](std::size_t offset, std::size_t n) {
    char* const here = pinned + offset;
    char* const there = host + offset;
    if (ends_.direction == Direction::kToDevice) {
      if (ends_.process == nullptr)
        std::memcpy(here, there, n);
      else
        ends_.process->read(here, there, n);
    } else if (ends_.process == nullptr) {
      std::memcpy(there, here, n);
    } else {
      ends_.process->write(there, here, n);
    }
  };
  if (pieces_.helpers_ == nullptr) return copy(0, bytes);
  pieces_.helpers_->share(bytes, copy);
}

// The place is free then.
void Mover::land(Pieces::Place& place) {
  if (place.bytes == 0) return;
  while (!place.copied->reached()) {
  }
  if (ends_.direction == Direction::kFromDevice)
    copy_by_cpu(place.data, ends_.host + place.offset, place.bytes);
  const std::size_t bytes = std::exchange(place.bytes, 0);
  if (landed_) landed_(place.offset, bytes);
}

void Mover::finish() {
  for (std::size_t i = 0; i < Pieces::kPlaces; ++i)
    land(pieces_.places_[pieces_.next_++ % Pieces::kPlaces]);
  pieces_.stream_->synchronize();
}

}  // namespace nearpeak::layer
