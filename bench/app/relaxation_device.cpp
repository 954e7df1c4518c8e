// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <utility>
#include <vector>

#include "accel/kernels/kernels.hpp"
#include "app/on_device.hpp"
#include "app/relaxation.hpp"

namespace nearpeak {
namespace {

// Rows that a thread goes down: twice as many as it has on their way (kernels::relaxation). With
// fewer, the rows above and below a band count; with more, an H200 was slower by several percent.
constexpr std::uint64_t kBand = 16;
// What the sums of all blocks become, for the CPU to add up.
constexpr std::uint64_t kTotals = 64;
constexpr LaunchShape kAddUp{.blocks = kTotals, .threads = 256};

class OnDevice final : public Relaxation {
 public:
  OnDevice(const CaseContext& context, const Tile& tile, const std::string& type,
           std::size_t cell_bytes)
      : Relaxation(context, tile, cell_bytes),
        device_(*context.device),
        lanes_(16 / cell_bytes),
        stream_(device_.new_stream()),
        beside_(device_.new_background_stream()),
        program_(kernels_of(device_, kernels::relaxation(type, static_cast<unsigned>(cell_bytes)))),
        relax_(program_.kernel("relax")),
        relax_line_(program_.kernel("relax_line")),
        copy_line_(program_.kernel("copy_line")),
        add_up_(program_.kernel("add_up")),
        add_up_expected_(program_.kernel("add_up_expected")),
        set_cells_(program_.kernel("set_cells")),
        find_wrong_(program_.kernel("find_wrong")),
        sums_(device_.memory(BufferKind::kDevice), sums_of_all() * sizeof(double), 1),
        totals_(device_.memory(BufferKind::kPinned), kTotals * sizeof(double), 1),
        search_(device_, tile_.cells()) {
    if (!device_.kernels()->reach_pinned())
      totals_there_.emplace(device_.memory(BufferKind::kDevice), kTotals * sizeof(double), 1);
  }

  void step(Cells first_cells, bool summed) override {
    used_sums_ = 0;
    if (first_cells == Cells::kAll)
      relax(0, tile_.rows, *stream_);
    else
      step_from_edges();
    summed_ = summed;
    if (!summed) return;
    beside_->wait_for(*stream_);
    const void* const sums = sums_.slot(0);
    void* const totals = totals_on_device();
    add_up_->launch(kAddUp, {&totals, &sums, &used_sums_}, *beside_);
    fetch_totals();
  }

  void pack() override {
    for (const Side side : kSides)
      if (tile_.neighbours[side])
        copy_line(out(side).slot(0), {0, 1}, to_, line_of(tile_, layout_, side, false), side);
    if (!tile_.alone()) stream_->synchronize();
  }
  void unpack() override {
    for (const Side side : kSides)
      if (tile_.neighbours[side])
        copy_line(to_, line_of(tile_, layout_, side, true), in(side).slot(0), {0, 1}, side);
  }
  void compute_inside() override {}
  // Nobody waits for cells that no neighbour needs and no norm is taken of.
  void finish_first() override {
    if (summed_ || !tile_.alone()) stream_->synchronize();
  }
  void finish() override {
    stream_->synchronize();
    beside_->synchronize();
  }

  double sum() override {
    beside_->synchronize();
    const auto* const totals = reinterpret_cast<const double*>(totals_.slot(0));
    return std::accumulate(totals, totals + kTotals, 0.0);
  }
  double expected_sum(const Field& field, std::uint64_t step) override {
    void* const totals = totals_on_device();
    add_up_expected_->launch(
        kAddUp,
        {&totals, &tile_.rows, &tile_.columns, &tile_.row, &tile_.column, &field.rows,
         &field.columns, &field.round, &field.down, &field.across, &step},
        *beside_);
    fetch_totals();
    return sum();
  }

  void set(const Field& field) override {
    set(from_, field, 0);
    set(to_, field, 1);
    stream_->synchronize();
  }

  std::optional<Wrong> find_wrong(const Field& field) override {
    void* const found = search_.found();
    find_wrong_->launch(search_.shape(),
                        {&from_, &layout_.origin, &layout_.pitch, &tile_.rows, &tile_.columns,
                         &tile_.row, &tile_.column, &field.rows, &field.columns, &field.round,
                         &field.down, &field.across, &found},
                        *stream_);
    stream_->synchronize();
    const auto first = search_.first();
    if (!first) return std::nullopt;
    const std::uint64_t wide = tile_.columns + 2;
    Wrong wrong{.row = static_cast<std::int64_t>(*first / wide) - 1,
                .column = static_cast<std::int64_t>(*first % wide) - 1,
                .expected = 0,
                .got = 0};
    wrong.expected =
        *FieldRows(field, tile_.row + wrong.row, tile_.column + wrong.column, 1).twice();
    wrong.got = value_at(wrong.row, wrong.column);
    return wrong;
  }

 private:
  // So many rows have so many items of 16 bytes and kBand rows.
  std::uint64_t items_of(std::uint64_t rows) const {
    return (tile_.columns + lanes_ - 1) / lanes_ * ((rows + kBand - 1) / kBand);
  }
  LaunchShape shape_of(std::uint64_t rows) const { return threads_for(items_of(rows)); }
  std::uint64_t sums_of_all() const {
    return std::uint64_t{shape_of(tile_.rows).blocks} + 2 * shape_of(1).blocks;
  }

  void step_from_edges() {
    const auto& next_to = tile_.neighbours;
    const std::uint64_t top = next_to[kUp] ? 1 : 0;
    const std::uint64_t end = tile_.rows - (next_to[kDown] && tile_.rows > top ? 1 : 0);
    // Either needs what the other has of the step before: cells inside, and cells around.
    stream_->wait_for(*beside_);
    beside_->wait_for(*stream_);
    relax(0, top, *stream_);
    relax(end, tile_.rows, *stream_);
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
    relax(top, end, *beside_);
  }

  void relax(std::uint64_t top, std::uint64_t end, Stream& stream) {
    if (end <= top) return;
    const std::uint64_t rows = end - top;
    const std::uint64_t first = layout_.origin + top * layout_.pitch;
    const LaunchShape shape = shape_of(rows);
    const void* const sums = sums_.slot(0);
    relax_->launch(
        shape,
        {&to_, &from_, &first, &layout_.pitch, &rows, &tile_.columns, &kBand, &sums, &used_sums_},
        stream);
    used_sums_ += shape.blocks;
  }

  void* totals_on_device() const { return (totals_there_ ? *totals_there_ : totals_).slot(0); }
  void fetch_totals() {
    if (totals_there_)
      device_.copy_async(totals_.slot(0), totals_there_->slot(0), kTotals * sizeof(double),
                         *beside_);
  }

  void copy_line(void* to, const Line& into, const void* from, const Line& of, Side side) {
    const std::uint64_t count = tile_.length(side);
    copy_line_->launch(threads_for(count),
                       {&to, &into.first, &into.step, &from, &of.first, &of.step, &count},
                       *stream_);
  }

  void set(const void* cells, const Field& field, std::uint64_t poisoned) {
    set_cells_->launch(threads_for(tile_.cells(), 1 << 20),
                       {&cells, &layout_.origin, &layout_.pitch, &tile_.rows, &tile_.columns,
                        &tile_.row, &tile_.column, &field.rows, &field.columns, &field.round,
                        &field.down, &field.across, &poisoned},
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
  const std::unique_ptr<Stream> beside_;  // of cells inside, and of sums
  Program& program_;
  const std::unique_ptr<Kernel> relax_;
  const std::unique_ptr<Kernel> relax_line_;
  const std::unique_ptr<Kernel> copy_line_;
  const std::unique_ptr<Kernel> add_up_;
  const std::unique_ptr<Kernel> add_up_expected_;
  const std::unique_ptr<Kernel> set_cells_;
  const std::unique_ptr<Kernel> find_wrong_;
  SlotBuffer sums_;    // of blocks
  SlotBuffer totals_;  // of the CPU
  std::optional<SlotBuffer> totals_there_;
  const SearchThreads search_;
  std::uint64_t used_sums_ = 0;
  bool summed_ = false;
};

}  // namespace

std::unique_ptr<Relaxation> relaxation_on_device(const CaseContext& context, const Tile& tile,
                                                 const std::string& type) {
  return std::make_unique<OnDevice>(context, tile, type,
                                    type == "float" ? sizeof(float) : sizeof(double));
}

}  // namespace nearpeak
