// SPDX-License-Identifier: Apache-2.0
#include "accel/resident.hpp"

#include <algorithm>
#include <vector>

namespace nearpeak {
namespace {

constexpr unsigned kQueue = ResidentQueue::kMessages;
constexpr std::size_t kRelayBytes = std::size_t{2} * kQueue * 32;  // of both directions

bool is_short(std::size_t bytes) { return bytes > 0 && bytes <= ResidentQueue::kInside; }

}  // namespace

bool ResidentQueue::has(std::uint64_t number, unsigned in_parts) const {
  const auto place = static_cast<unsigned>(number % kMessages);
  const std::uint32_t wanted = mark(number);
  if (in_parts == 1) return whole[place].load(std::memory_order_acquire) == wanted;
  for (unsigned i = 0; i < in_parts; ++i)
    if (parts[place][i].load(std::memory_order_acquire) != wanted) return false;
  return true;
}

ResidentShape ResidentShape::of(unsigned multiprocessors, std::uint64_t stride) {
  constexpr unsigned kMostBlocks = 129;  // more are no faster
  constexpr unsigned kLeft = 3;
  const unsigned blocks = multiprocessors > kLeft + 1 ? multiprocessors - kLeft : 2;
  return {.blocks = std::min(blocks, kMostBlocks), .stride = stride};
}

unsigned ResidentShape::parts(std::uint64_t bytes) const {
  if (bytes <= kBlockBytes || blocks == 1) return 1;
  const std::uint64_t parts = (bytes + kPartBytes - 1) / kPartBytes;
  return static_cast<unsigned>(
      std::min<std::uint64_t>({parts, blocks - 1, ResidentQueue::kMostParts}));
}

bool ResidentSender::ring(std::size_t slot, std::size_t bytes, const void* data) {
  if (number_ - oldest_ == kQueue) {
    advance();
    if (number_ - oldest_ == kQueue) return false;
  }
  const auto place = static_cast<unsigned>(number_ % kQueue);
  std::uint64_t payload = bytes;
  std::uint32_t kind = ResidentQueue::kCopy;
  if (bytes == 0) {
    // No GPU has anything to do with it.
    kind = ResidentQueue::kNothing;
  } else if (is_short(bytes) && inside_ == Inside::kInBell) {
    payload = 0;
    std::memcpy(&payload, data, bytes);
    kind = static_cast<std::uint32_t>(bytes);
  } else if (is_short(bytes) && inside_ == Inside::kInArrival) {
    kind = ResidentQueue::kIntoArrival;
  }
  bytes_[place] = static_cast<std::uint32_t>(bytes);
  const std::uint32_t mark = ResidentQueue::mark(number_);
  const std::uint64_t tag = mark << 8 | kind;
  ResidentQueue::Quad& bell = queue_.bells[place];
  bell.low.store(static_cast<std::uint32_t>(slot) | payload << 32, std::memory_order_relaxed);
  bell.high.store(payload >> 32 | tag << 32, std::memory_order_release);
  if (bytes == 0) queue_.whole[place].store(mark, std::memory_order_release);
  ++number_;
  return true;
}

void ResidentSender::advance() {
  while (oldest_ < number_) {
    const auto place = static_cast<unsigned>(oldest_ % kQueue);
    const std::uint32_t bytes = bytes_[place];
    if (inside_ == Inside::kInArrival && is_short(bytes)) {
      const std::uint64_t high = queue_.inside[place].high.load(std::memory_order_acquire);
      if (high >> 32 != ResidentQueue::mark(oldest_)) return;
    } else if (!queue_.has(oldest_, shape_.parts(bytes))) {
      return;
    }
    ++oldest_;
  }
}

bool ResidentReceiver::receive(std::size_t bytes, void* data) {
  const auto place = static_cast<unsigned>(number_ % kQueue);
  if (in_arrival_ && is_short(bytes)) {
    const std::uint64_t high = queue_.inside[place].high.load(std::memory_order_acquire);
    const std::uint64_t low = queue_.inside[place].low.load(std::memory_order_acquire);
    const std::uint32_t mark = ResidentQueue::mark(number_);
    if (high >> 32 != mark || low >> 32 != mark) return false;
    const std::uint64_t payload = (low & 0xffffffff) | high << 32;
    std::memcpy(data, &payload, bytes);
  } else if (!queue_.has(number_, shape_.parts(bytes))) {
    return false;
  }
  ++number_;
  return true;
}

ResidentKernel::ResidentKernel(Device& device, Program& motion, const ResidentShape& shape,
                               const Direction& first, const Direction* second,
                               std::uint64_t patience_ns)
    : device_(device),
      shape_(shape),
      directions_{first, second == nullptr ? first : *second},
      count_(second == nullptr ? 1 : 2),
      patience_ns_(patience_ns),
      kernel_(motion.kernel("resident")),
      stream_(device.new_stream()),
      relay_(device.memory(BufferKind::kDevice), kRelayBytes, 1) {
  launch();
}

ResidentKernel::~ResidentKernel() {
  directions_[0].queue->leave.store(static_cast<std::uint32_t>(epoch_));
  try {
    stream_->synchronize();
  } catch (const std::exception&) {  // a broken context has said so before
  }
}

void ResidentKernel::launch() {
  // Numbers in the relay begin anew.
  const std::vector<char> zero(kRelayBytes);
  device_.copy(relay_.slot(0), zero.data(), zero.size());
  ++epoch_;
  const void* const relay = relay_.slot(0);
  const std::uint64_t next = next_[0] | static_cast<std::uint64_t>(next_[1]) << 32;
  const auto& [a, b] = directions_;
  kernel_->launch({.blocks = shape_.blocks, .threads = ResidentShape::kThreads},
                  {&a.on_device, &a.from, &a.to, &b.on_device, &b.from, &b.to, &count_, &relay,
                   &shape_.stride, &next, &epoch_, &patience_ns_},
                  *stream_);
}

void ResidentKernel::return_if_rung() {
  bool rung = false;
  bool moved = false;
  std::uint32_t served_to[2] = {next_[0], next_[1]};
  for (std::uint64_t i = 0; i < count_; ++i) {
    ResidentQueue& queue = *directions_[i].queue;
    const std::uint64_t left = queue.left.load(std::memory_order_acquire);
    if (left >> 32 != epoch_) return;  // it is about to tell the second
    const auto next = static_cast<std::uint32_t>(left);
    const std::uint64_t bell = queue.bells[next % kQueue].high.load(std::memory_order_acquire);
    rung = rung || bell >> 40 == ResidentQueue::mark(next);
    moved = moved || next != next_[i];
    served_to[i] = next;
  }
  if (!rung) return;  // what it has served counts when there is a bell
  stream_->synchronize();
  if (had_bell_ && !moved)
    throw AcceleratorError("the resident kernel left without having served a bell");
  had_bell_ = true;
  std::copy(served_to, served_to + 2, next_);
  launch();
}

}  // namespace nearpeak
