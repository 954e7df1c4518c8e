// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "accel/kernels/kernels.hpp"
#include "app/halo_cells.hpp"
#include "app/on_device.hpp"

namespace nearpeak {
namespace {

constexpr unsigned kThreads = 256;      // of a block, and of a piece
constexpr std::uint64_t kChunk = 1024;  // cells of a piece

// Of numbers below 2^31, exactly: number * factor >> shift.
struct Divider {
  std::uint64_t number;
  std::uint64_t factor;
  std::uint64_t shift;
  explicit Divider(std::int64_t by)
      : number(static_cast<std::uint64_t>(by)),
        factor(0),
        shift(31 + static_cast<std::uint64_t>(std::bit_width(number - 1))) {
    factor = (std::uint64_t{1} << shift) / number + 1;
  }
};

// Numbers in device memory, for kernels to read.
template <class Number>
class DeviceTable {
 public:
  DeviceTable(Device& device, const std::vector<Number>& numbers)
      : buffer_(device.memory(BufferKind::kDevice), numbers.size() * sizeof(Number), 1) {
    buffer_.memory().from_host(buffer_.slot(0), numbers.data(), numbers.size() * sizeof(Number));
  }
  const void* data() const { return buffer_.slot(0); }

 private:
  SlotBuffer buffer_;
};

class OnDevice final : public HaloCells {
 public:
  OnDevice(const CaseContext& context, const HaloBlock& block,
           const std::vector<HaloMessage>& messages, const std::string& type,
           std::size_t cell_bytes, const PackedHalo* packed)
      : device_(*context.device),
        block_(block),
        messages_(messages),
        cell_bytes_(cell_bytes),
        count_(static_cast<std::uint64_t>(block.cells_of_all())),
        stream_(device_.new_stream()),
        program_(kernels_of(device_, kernels::halo(type, kChunk))),
        pack_(program_.kernel("pack_boxes")),
        unpack_(program_.kernel("unpack_boxes")),
        set_cells_(program_.kernel("set_cells")),
        find_wrong_(program_.kernel("find_wrong")),
        // No offset: kernels are given where an allocation begins.
        buffer_(context.memory, count_ * cell_bytes, 1),
        out_boxes_(device_, boxes(packed == nullptr ? nullptr : &packed->out, true)),
        in_boxes_(device_, boxes(packed == nullptr ? nullptr : &packed->in, false)),
        pieces_(device_, pieces()),
        shape_(device_, shape()),
        search_(device_, count_) {}

  char* data() const override { return buffer_.slot(0); }

  void pack(PackedHalo& packed, bool at_once) override {
    move(*pack_, packed.out.base(), buffer_.slot(0), out_boxes_, at_once);
  }
  void unpack(PackedHalo& packed, bool at_once) override {
    move(*unpack_, buffer_.slot(0), packed.in.base(), in_boxes_, at_once);
  }

  void set(std::uint64_t round, Part part) override {
    const void* const cells = buffer_.slot(0);
    const void* const block = shape_.data();
    const std::uint64_t all = part == Part::kAll ? 1 : 0;
    set_cells_->launch(threads_for(count_, 1 << 20), {&cells, &block, &count_, &round, &all},
                       *stream_);
    stream_->synchronize();
  }

  std::optional<std::int64_t> find_wrong(std::uint64_t round, Part part) const override {
    const void* const cells = buffer_.slot(0);
    const void* const block = shape_.data();
    const std::uint64_t all = part == Part::kAll ? 1 : 0;
    const std::uint64_t edges = block_.edges ? 1 : 0;
    const void* const found = search_.found();
    find_wrong_->launch(search_.shape(), {&cells, &block, &count_, &round, &all, &edges, &found},
                        *stream_);
    stream_->synchronize();
    const auto first = search_.first();
    if (!first) return std::nullopt;
    return static_cast<std::int64_t>(*first);
  }

  double value_at(std::int64_t number) const override {
    const char* const at = buffer_.slot(0) + static_cast<std::size_t>(number) * cell_bytes_;
    if (cell_bytes_ == sizeof(float)) return value_of<float>(at);
    return value_of<double>(at);
  }

 private:
  static std::uint64_t pieces_of(const HaloMessage& message) {
    return (static_cast<std::uint64_t>(message.cells) + kChunk - 1) / kChunk;
  }

  // As accel/kernels/kernels.hpp has them; of no message but one box of nothing.
  std::vector<std::uint64_t> boxes(const MessageBuffers* buffers, bool outgoing) const {
    if (buffers == nullptr) return {0};
    std::vector<std::uint64_t> numbers;
    const Triple padded = block_.padded();
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const HaloMessage& message = messages_[i];
      const Box box = outgoing ? block_.outgoing(message.way) : block_.incoming(message.way);
      numbers.push_back(buffers->start(i) / cell_bytes_);
      numbers.push_back(static_cast<std::uint64_t>(message.cells));
      numbers.push_back(static_cast<std::uint64_t>(message.first_field * block_.cells_of_field() +
                                                   block_.at(box.first)));
      for (const std::size_t dimension : {2, 1, 0}) {
        const Divider divider(box.count[dimension]);
        numbers.insert(numbers.end(), {divider.number, divider.factor, divider.shift});
      }
      numbers.push_back(static_cast<std::uint64_t>(padded[2]));
      numbers.push_back(static_cast<std::uint64_t>(padded[1] * padded[2]));
      numbers.push_back(static_cast<std::uint64_t>(block_.cells_of_field()));
    }
    return numbers;
  }

  std::vector<std::uint64_t> pieces() const {
    constexpr std::uint64_t kNumbersOfBox = 15;
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < messages_.size(); ++i)
      for (std::uint64_t piece = 0; piece < pieces_of(messages_[i]); ++piece)
        numbers.insert(numbers.end(), {i * kNumbersOfBox, piece * kChunk});
    return numbers;
  }

  std::vector<std::int64_t> shape() const {
    std::vector<std::int64_t> numbers;
    for (const Triple& part : {block_.cells, block_.halo, block_.place_of({0, 0, 0})})
      numbers.insert(numbers.end(), part.begin(), part.end());
    for (const std::size_t i : kDimensions) numbers.push_back(block_.grid[i] * block_.cells[i]);
    return numbers;
  }

  void move(Kernel& kernel, const void* to, const void* from,
            const DeviceTable<std::uint64_t>& boxes, bool at_once) {
    const void* const of_boxes = boxes.data();
    const void* const of_pieces = pieces_.data();
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    const auto launch = [&] {
      kernel.launch(threads_for(count * kThreads),
                    {&to, &from, &of_boxes, &of_pieces, &first, &count}, *stream_);
      first += count;
      count = 0;
    };
    for (const HaloMessage& message : messages_) {
      count += pieces_of(message);
      if (!at_once) launch();
    }
    if (at_once) launch();
    stream_->synchronize();
  }

  template <class Real>
  double value_of(const char* at) const {
    Real value = 0;
    buffer_.memory().to_host(&value, at, sizeof(value));
    return static_cast<double>(value);
  }

  Device& device_;
  const HaloBlock block_;
  const std::vector<HaloMessage> messages_;
  const std::size_t cell_bytes_;
  const std::uint64_t count_;  // of all cells
  const std::unique_ptr<Stream> stream_;
  Program& program_;
  const std::unique_ptr<Kernel> pack_;
  const std::unique_ptr<Kernel> unpack_;
  const std::unique_ptr<Kernel> set_cells_;
  const std::unique_ptr<Kernel> find_wrong_;
  SlotBuffer buffer_;
  const DeviceTable<std::uint64_t> out_boxes_;
  const DeviceTable<std::uint64_t> in_boxes_;
  const DeviceTable<std::uint64_t> pieces_;
  const DeviceTable<std::int64_t> shape_;
  const SearchThreads search_;
};

}  // namespace

std::unique_ptr<HaloCells> halo_cells_on_device(const CaseContext& context, const HaloBlock& block,
                                                const std::vector<HaloMessage>& messages,
                                                const std::string& type, const PackedHalo* packed) {
  return std::make_unique<OnDevice>(context, block, messages, type,
                                    type == "float" ? sizeof(float) : sizeof(double), packed);
}

}  // namespace nearpeak
