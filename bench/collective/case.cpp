// SPDX-License-Identifier: Apache-2.0
#include "collective/case.hpp"

#include <algorithm>

#include "benchmark/check_memory.hpp"
#include "benchmark/slots.hpp"
#include "group/machine.hpp"

namespace nearpeak {
namespace {

constexpr std::uint64_t kSeed = 1;  // of what is received, before it is
// Rounds until every rank of an operation that moves no data has come late; of more ranks, several
// come late at once.
constexpr int kMostLate = 64;

std::size_t in_buffer(const CollectiveBuffers& buffers) {
  if (!buffers.in_place) return buffers.in_bytes;
  return std::max(buffers.in_bytes, *buffers.in_place + buffers.out_bytes);
}

std::size_t out_buffer(const CollectiveBuffers& buffers) {
  return buffers.in_place ? 0 : buffers.out_bytes;
}

// Of a slot of either buffer as much as is needed at once.
std::size_t scratch_bytes(const CollectiveBuffers& buffers) {
  return std::min(kPieceBytes, SlotBuffer::stride(std::max(in_buffer(buffers), buffers.out_bytes)));
}

// Of no rank.
bool moves_nothing(Group& group, const CollectiveBuffers& buffers) {
  return group.everywhere(buffers.out_bytes == 0 && buffers.in_bytes == 0);
}

std::size_t slots_of(const CaseContext& context, const CollectiveBuffers& buffers) {
  const std::size_t bytes = std::max<std::size_t>(in_buffer(buffers), out_buffer(buffers));
  // The same on every rank: a persistent operation is of one slot on all of them.
  const std::size_t slots =
      context.group.largest(bytes == 0 ? std::size_t{1} : slots_for_one(context, bytes));
  const std::size_t needed =
      SlotBuffer::stride(in_buffer(buffers)) + SlotBuffer::stride(out_buffer(buffers));
  check_memory(context,
               {.all = slots * needed, .scratch = scratch_bytes(buffers), .limited = needed});
  return slots;
}

}  // namespace

CollectiveCase::CollectiveCase(const CaseContext& context, const CollectiveBuffers& buffers,
                               std::unique_ptr<Contents> contents)
    : group_(context.group),
      buffers_(buffers),
      contents_(std::move(contents)),
      slots_(slots_of(context, buffers)),
      writes_(context.axis(kTouch) == "sender" && buffers.out_bytes > 0),
      ordered_(moves_nothing(context.group, buffers)) {
  on_every_rank(group_, [&] {
    out_.emplace(context.memory, out_buffer(buffers), slots_, context.offset);
    in_.emplace(context.memory, in_buffer(buffers), slots_, context.offset);
    scratch_.resize(scratch_bytes(buffers));
  });
}

std::uint64_t CollectiveCase::fewest_rounds() const {
  return ordered_ ? static_cast<std::uint64_t>(late_rounds()) : Case::fewest_rounds();
}

int CollectiveCase::late_rounds() const { return std::min(group_.size(), kMostLate); }

void* CollectiveCase::out(std::size_t slot) const {
  return out_buffer(buffers_) == 0 ? nullptr : out_->slot(slot);
}

void* CollectiveCase::in(std::size_t slot) const {
  return in_buffer(buffers_) == 0 ? nullptr : in_->slot(slot);
}

std::size_t CollectiveCase::round_bytes() const {
  return in_buffer(buffers_) + out_buffer(buffers_);
}

void CollectiveCase::touch(std::size_t slot) const {
  if (!writes_) return;
  char* const from = buffers_.in_place ? in_->slot(slot) + *buffers_.in_place : out_->slot(slot);
  write_lines(from, buffers_.out_bytes);
}

void CollectiveCase::begin_round(std::uint64_t round, Part) {
  round_ = round;
  next_ = 0;
  used_ = 0;
  const std::size_t count = round == 0 ? slots_ : 1;
  in_->poison(kSeed, 0, count);
  for (std::size_t slot = 0; slot < count && buffers_.out_bytes > 0; ++slot) {
    SlotBuffer& from = buffers_.in_place ? *in_ : *out_;
    contents_->write(from.memory(), from.slot(slot) + buffers_.in_place.value_or(0), round,
                     scratch_);
  }
}

void CollectiveCase::wait_if_late() {
  constexpr std::int64_t kLateNs = 200'000;
  const auto late = static_cast<int>(round_ % static_cast<std::uint64_t>(late_rounds()));
  came_ns_ = now_ns();
  if (group_.rank() % late_rounds() != late) return;
  const std::int64_t until = came_ns_ + kLateNs;
  while ((came_ns_ = now_ns()) < until) {
  }
}

std::optional<Mismatch> CollectiveCase::left_too_soon() const {
  static const std::uint64_t clock = std::hash<std::string>()(clock_key());
  const Stay mine{clock, came_ns_, left_ns_};
  for (const Stay& other : group_.gather(mine))
    if (other.clock == mine.clock && mine.left_ns < other.came_ns)
      return Mismatch{.slot = 0, .byte = 0, .expected = 0, .got = 0, .left_early = true};
  return std::nullopt;
}

std::optional<Mismatch> CollectiveCase::wrong(std::uint64_t round, Part) const {
  if (ordered_) return round == 0 ? std::nullopt : left_too_soon();
  // What was timed has sent again and again what it had received.
  if (round == 0 && buffers_.in_place && buffers_.overwritten) return std::nullopt;
  const std::size_t most = most_looked_at(in_->layout().stride);
  for (std::size_t slot = 0; slot < std::min(used_, most); ++slot)
    if (auto bad = wrong_in(slot, round)) {
      bad->slot = slot;
      bad->whole = in_->layout().bytes;
      return bad;
    }
  return std::nullopt;
}

// Where no way is right it is what the first one finds.
std::optional<Mismatch> CollectiveCase::wrong_in(std::size_t slot, std::uint64_t round) const {
  std::optional<Mismatch> first;
  for (std::size_t way = 0; way < contents_->ways(); ++way) {
    const auto bad = wrong_in(slot, round, way);
    if (!bad) return std::nullopt;
    if (!first) first = bad;
  }
  return first;
}

std::optional<Mismatch> CollectiveCase::wrong_in(std::size_t slot, std::uint64_t round,
                                                 std::size_t way) const {
  const SlotLayout& layout = in_->layout();
  for (std::size_t from = 0; from < layout.stride; from += scratch_.size()) {
    const std::size_t bytes = std::min(scratch_.size(), layout.stride - from);
    in_->memory().to_host(scratch_.data(), in_->slot(slot) + from, bytes);
    const std::size_t received = std::min(bytes, layout.bytes - std::min(layout.bytes, from));
    auto bad = contents_->find_wrong({scratch_.data(), from, received}, round, way);
    // The gap is a part of the last cache line.
    if (!bad && from + bytes == layout.stride)
      bad = find_in_gap(scratch_.data(), layout, kSeed, slot, from);
    if (bad) return bad;
  }
  return std::nullopt;
}

Benchmark collective_benchmark(BenchmarkInfo info, std::vector<Axis> axes,
                               std::function<std::unique_ptr<Case>(const CaseContext&)> make) {
  info.metrics = {{info.name, "us", "lower"}};
  info.ranks = {.kind = RankRule::Kind::kAtLeast, .count = 2};
  info.sync = Sync::kBarrier;
  info.reduce = Reduce::kMaximum;
  info.axes = std::move(axes);
  return {.info = std::move(info), .make = std::move(make)};
}

Axis in_place_axis() {
  return {kInPlace, {"no", "yes"}, "whether ranks send from the buffer that they receive in"};
}

}  // namespace nearpeak
