// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "accel/kernels/kernels.hpp"
#include "app/on_device.hpp"
#include "app/relaxation.hpp"

namespace nearpeak {
namespace {

// Rows that a thread goes down: many enough that its first and last are few, and few enough that
// all multiprocessors have threads to the end.
constexpr std::uint64_t kBand = 64;
constexpr unsigned kTotals = 4096;  // sums that are left for the CPU

class OnDevice final : public Relaxation {
 public:
  OnDevice(const CaseContext& context, const Tile& tile, const std::string& type,
           std::size_t cell_bytes)
      : Relaxation(context, tile, cell_bytes),
        device_(*context.device),
        lanes_(16 / cell_bytes),
        stream_(device_.new_stream()),
        beside_(device_.new_stream()),
        program_(kernels_of(device_, kernels::relaxation(type, static_cast<unsigned>(cell_bytes)))),
        relax_(program_.kernel("relax")),
        relax_line_(program_.kernel("relax_line")),
        copy_line_(program_.kernel("copy_line")),
        add_up_(program_.kernel("add_up")),
        set_cells_(program_.kernel("set_cells")),
        find_wrong_(program_.kernel("find_wrong")),
        sums_(device_.memory(BufferKind::kDevice), sums_of_all() * sizeof(double), 1),
        totals_(device_.memory(BufferKind::kDevice), kTotals * sizeof(double), 1),
        totals_here_(device_.memory(BufferKind::kPinned), kTotals * sizeof(double), 1),
        lookers_(device_) {}

  void step(Cells first_cells, bool summed) override {
    used_sums_ = 0;
    if (first_cells == Cells::kAll) return relax(0, tile_.rows, summed, *stream_);
    const auto& next_to = tile_.neighbours;
    const std::uint64_t top = next_to[kUp] ? 1 : 0;
    const std::uint64_t end = tile_.rows - (next_to[kDown] && tile_.rows > top ? 1 : 0);
    stream_->synchronize();  // cells around are in their place, for the other stream too
    relax(0, top, summed, *stream_);
    relax(end, tile_.rows, summed, *stream_);
    for (const Side side : {kLeft, kRight})
      if (next_to[side] && end > top) {
        const Line line = line_of(tile_, layout_, side, false);
        const std::uint64_t first = line.first + top * line.step;
        const std::uint64_t count = end - top;
        relax_line_->launch(threads_for(count),
                            {&to_, &from_, &first, &line.step, &count, &layout_.pitch}, *stream_);
      }
    // With the cells at the left and the right, which become the same again: whole rows are quicker
    // than rows without them.
    relax(top, end, summed, *beside_);
  }

  void pack() override {
    for (const Side side : kSides)
      if (tile_.neighbours[side])
        copy_line(out(side).slot(0), {0, 1}, to_, line_of(tile_, layout_, side, false), side);
    stream_->synchronize();
  }
  void unpack() override {
    for (const Side side : kSides)
      if (tile_.neighbours[side])
        copy_line(to_, line_of(tile_, layout_, side, true), in(side).slot(0), {0, 1}, side);
  }
  void finish_inside() override { beside_->synchronize(); }
  void finish() override { stream_->synchronize(); }

  double sum() override {
    const void* const sums = sums_.slot(0);
    void* const totals = totals_.slot(0);
    add_up_->launch(threads_for(kTotals), {&totals, &sums, &used_sums_}, *stream_);
    device_.copy_async(totals_here_.slot(0), totals, kTotals * sizeof(double), *stream_);
    stream_->synchronize();
    const auto* const here = reinterpret_cast<const double*>(totals_here_.slot(0));
    double all = 0;
    for (unsigned i = 0; i < kTotals; ++i) all += here[i];
    return all;
  }

  void set(const Field& field) override {
    set(from_, field, 0);
    set(to_, field, 1);
    stream_->synchronize();
  }

  std::optional<Wrong> find_wrong(const Field& field) override {
    void* const found = lookers_.found();
    const std::uint64_t held = held_sides();
    find_wrong_->launch(
        Lookers::shape(),
        {&from_, &layout_.origin, &layout_.pitch, &tile_.rows, &tile_.columns, &tile_.row,
         &tile_.column, &field.round, &field.down, &field.across, &held, &found},
        *stream_);
    stream_->synchronize();
    const auto first = lookers_.first();
    if (!first) return std::nullopt;
    const std::uint64_t wide = tile_.columns + 2;
    Wrong wrong{.row = static_cast<std::int64_t>(*first / wide) - 1,
                .column = static_cast<std::int64_t>(*first % wide) - 1,
                .expected = 0,
                .got = 0};
    wrong.expected = expected(field, wrong.row, wrong.column);
    wrong.got = value_at(wrong.row, wrong.column);
    return wrong;
  }

 private:
  // One for each thread of a step.
  std::uint64_t sums_of(std::uint64_t rows) const {
    return (tile_.columns + lanes_ - 1) / lanes_ * ((rows + kBand - 1) / kBand);
  }
  std::uint64_t sums_of_all() const { return sums_of(tile_.rows) + 2 * sums_of(1); }

  void relax(std::uint64_t top, std::uint64_t end, bool summed, Stream& stream) {
    if (end <= top) return;
    const std::uint64_t rows = end - top;
    const std::uint64_t count = sums_of(rows);
    const std::uint64_t sums_wanted = summed ? 1 : 0;
    const void* const sums = sums_.slot(0);
    relax_->launch(threads_for(count),
                   {&to_, &from_, &layout_.origin, &layout_.pitch, &top, &rows, &tile_.columns,
                    &kBand, &sums, &used_sums_, &sums_wanted},
                   stream);
    used_sums_ += count;
  }

  void copy_line(void* to, const Line& into, const void* from, const Line& of, Side side) {
    const std::uint64_t count = tile_.length(side);
    copy_line_->launch(threads_for(count),
                       {&to, &into.first, &into.step, &from, &of.first, &of.step, &count},
                       *stream_);
  }

  std::uint64_t held_sides() const {
    std::uint64_t held = 0;
    for (const Side side : kSides)
      if (!tile_.neighbours[side]) held |= std::uint64_t{1} << side;
    return held;
  }

  void set(const void* cells, const Field& field, std::uint64_t spoiled) {
    const std::uint64_t held = held_sides();
    set_cells_->launch(
        threads_for(tile_.cells(), 1 << 20),
        {&cells, &layout_.origin, &layout_.pitch, &tile_.rows, &tile_.columns, &tile_.row,
         &tile_.column, &field.round, &field.down, &field.across, &held, &spoiled},
        *stream_);
  }

  double value_at(std::int64_t row, std::int64_t column) {
    const char* const at = from_ + layout_.at(row, column) * cell_bytes_;
    if (cell_bytes_ == sizeof(float)) {
      float value = 0;
      first_.memory().to_host(&value, at, sizeof(value));
      return static_cast<double>(value);
    }
    double value = 0;
    first_.memory().to_host(&value, at, sizeof(value));
    return value;
  }

  Device& device_;
  const std::uint64_t lanes_;  // cells that a thread has of a row
  const std::unique_ptr<Stream> stream_;
  const std::unique_ptr<Stream> beside_;
  Program& program_;
  const std::unique_ptr<Kernel> relax_;
  const std::unique_ptr<Kernel> relax_line_;
  const std::unique_ptr<Kernel> copy_line_;
  const std::unique_ptr<Kernel> add_up_;
  const std::unique_ptr<Kernel> set_cells_;
  const std::unique_ptr<Kernel> find_wrong_;
  SlotBuffer sums_;
  SlotBuffer totals_;
  SlotBuffer totals_here_;
  const Lookers lookers_;
  std::uint64_t used_sums_ = 0;
};

}  // namespace

std::unique_ptr<Relaxation> relaxation_on_device(const CaseContext& context, const Tile& tile,
                                                 const std::string& type) {
  return std::make_unique<OnDevice>(context, tile, type,
                                    type == "float" ? sizeof(float) : sizeof(double));
}

}  // namespace nearpeak
