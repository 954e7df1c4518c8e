// SPDX-License-Identifier: Apache-2.0
#include "datatype/packer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

namespace nearpeak {
namespace {

// Copies pieces of one size known when compiled, as a loop over an application's elements does.
template <std::size_t kBytes>
struct OfSize {
  static void copy(char* to, const char* from, std::size_t) { std::memcpy(to, from, kBytes); }
};
template <>
struct OfSize<0> {
  static void copy(char* to, const char* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
};

template <std::size_t kBytes>
class LoopPacker final : public Packer {
 public:
  explicit LoopPacker(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

  void pack(char* packed, const char* data) override {
    for (const Piece& piece : pieces_) {
      OfSize<kBytes>::copy(packed, data + piece.offset, piece.bytes);
      packed += piece.bytes;
    }
  }
  void unpack(char* data, const char* packed) override {
    for (const Piece& piece : pieces_) {
      OfSize<kBytes>::copy(data + piece.offset, packed, piece.bytes);
      packed += piece.bytes;
    }
  }

 private:
  const std::vector<Piece> pieces_;
};

std::unique_ptr<Packer> make_loop(std::vector<Piece> pieces) {
  const std::size_t bytes = pieces.front().bytes;
  const bool alike = std::all_of(pieces.begin(), pieces.end(),
                                 [&](const Piece& piece) { return piece.bytes == bytes; });
  if (alike && bytes == 4) return std::make_unique<LoopPacker<4>>(std::move(pieces));
  if (alike && bytes == 8) return std::make_unique<LoopPacker<8>>(std::move(pieces));
  if (alike && bytes == 16) return std::make_unique<LoopPacker<16>>(std::move(pieces));
  if (alike && bytes == 40) return std::make_unique<LoopPacker<40>>(std::move(pieces));
  return std::make_unique<LoopPacker<0>>(std::move(pieces));
}

// The kernels of accel/kernels/pack.cpp, and what they need of the pieces.
class KernelPacker final : public Packer {
 public:
  KernelPacker(const CaseContext& context, Kernels& kernels, const std::vector<Piece>& pieces)
      : stream_(context.device->new_stream()),
        pack_(kernels.packing().kernel("pack_blocks")),
        unpack_(kernels.packing().kernel("unpack_blocks")),
        count_(pieces.size()),
        offsets_(context.device->memory(BufferKind::kDevice), count_ * sizeof(std::uint64_t), 1),
        starts_(context.device->memory(BufferKind::kDevice), (count_ + 1) * sizeof(std::uint64_t),
                1) {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint64_t> starts{0};
    std::uint64_t alike = kWidest | context.offset;
    std::uint64_t longest = 0;
    for (const Piece& piece : pieces) {
      offsets.push_back(piece.offset);
      starts.push_back(starts.back() + piece.bytes);
      alike = std::gcd(alike, std::gcd<std::uint64_t>(piece.offset, piece.bytes));
      longest = std::max<std::uint64_t>(longest, piece.bytes);
    }
    word_ = std::gcd(kWidest, alike);
    lanes_ = std::min(kMostLanes, std::bit_ceil(std::max<std::uint64_t>(1, longest / word_)));
    const std::uint64_t wanted = (count_ * lanes_ + kThreads - 1) / kThreads;
    shape_ = {.blocks = static_cast<unsigned>(
                  std::min<std::uint64_t>(wanted, kernels.multiprocessors() * 8)),
              .threads = kThreads};
    write(offsets_, offsets);
    write(starts_, starts);
  }

  void pack(char* packed, const char* data) override {
    const void* offsets = offsets_.slot(0);
    const void* starts = starts_.slot(0);
    pack_->launch(shape_, {&packed, &data, &offsets, &starts, &count_, &word_, &lanes_}, *stream_);
    stream_->synchronize();
  }
  void unpack(char* data, const char* packed) override {
    const void* offsets = offsets_.slot(0);
    const void* starts = starts_.slot(0);
    unpack_->launch(shape_, {&data, &packed, &offsets, &starts, &count_, &word_, &lanes_},
                    *stream_);
    stream_->synchronize();
  }

 private:
  static constexpr std::uint64_t kWidest = 16;  // bytes that a thread copies at once
  static constexpr std::uint64_t kMostLanes = 32;
  static constexpr unsigned kThreads = 256;

  static void write(SlotBuffer& to, const std::vector<std::uint64_t>& numbers) {
    to.memory().from_host(to.slot(0), numbers.data(), numbers.size() * sizeof(std::uint64_t));
  }

  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Kernel> pack_;
  std::unique_ptr<Kernel> unpack_;
  const std::uint64_t count_;
  std::uint64_t word_ = 1;
  std::uint64_t lanes_ = 1;
  SlotBuffer offsets_;
  SlotBuffer starts_;
  LaunchShape shape_{};
};

}  // namespace

std::size_t bytes_of(const std::vector<Piece>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                         [](std::size_t sum, const Piece& piece) { return sum + piece.bytes; });
}

std::size_t extent_of(const std::vector<Piece>& pieces) {
  std::size_t end = 0;
  for (const Piece& piece : pieces) end = std::max(end, piece.offset + piece.bytes);
  return end;
}

std::vector<Piece> joined(const std::vector<Piece>& pieces, std::size_t most) {
  std::vector<Piece> runs;
  for (const Piece& piece : pieces) {
    if (!runs.empty() && runs.back().offset + runs.back().bytes == piece.offset)
      runs.back().bytes += piece.bytes;
    else
      runs.push_back(piece);
  }
  std::vector<Piece> parts;
  for (const Piece& run : runs)
    for (std::size_t done = 0; done < run.bytes; done += most)
      parts.push_back({run.offset + done, std::min(most, run.bytes - done)});
  return parts;
}

std::unique_ptr<Packer> make_packer(const CaseContext& context, const std::vector<Piece>& pieces) {
  if (!on_device(context.kind))
    return make_loop(joined(pieces, std::numeric_limits<std::size_t>::max()));
  const std::string why = why_no_kernels(*context.device);
  if (!why.empty()) throw AcceleratorError("--pack kernel needs kernels: " + why);
  constexpr std::size_t kOfAWarp = 4096;  // bytes: several share what is longer
  return std::make_unique<KernelPacker>(context, *context.device->kernels(),
                                        joined(pieces, kOfAWarp));
}

}  // namespace nearpeak
