// SPDX-License-Identifier: Apache-2.0
#include "collective/case.hpp"

#include <algorithm>

#include "group/host_memory.hpp"

namespace nearpeak {
namespace {

constexpr std::uint64_t kSeed = 1;  // of what is received, before it is

std::size_t in_buffer(const Places& places) {
  if (!places.in_place) return places.in_bytes;
  return std::max(places.in_bytes, *places.in_place + places.out_bytes);
}

std::size_t out_buffer(const Places& places) { return places.in_place ? 0 : places.out_bytes; }

std::size_t slots_of(const CaseContext& context, const Places& places) {
  const std::size_t bytes = std::max<std::size_t>(in_buffer(places), out_buffer(places));
  const bool rotates = context.axis(kReuse) == "rotating";
  // The same on every rank: a persistent operation is of one slot on all of them.
  const auto all =
      context.group.gather(rotates ? rotating_windows(bytes, 1, context.cache_bytes) : 1);
  const std::size_t slots = *std::max_element(all.begin(), all.end());
  const std::size_t needed =
      SlotBuffer::stride(in_buffer(places)) + SlotBuffer::stride(out_buffer(places));
  const auto every = context.group.gather(needed);
  if (const auto most = *std::max_element(every.begin(), every.end()); most > context.most_bytes)
    throw Unfit("the buffers of a rank take " + bytes_text(most) + ": more than --memory-limit " +
                bytes_text(context.most_bytes));
  const bool on_host = !on_device(context.kind);
  const std::string why = why_too_much(context.group, on_host ? slots * needed : 0);
  if (!why.empty()) throw Unfit(why);
  return slots;
}

}  // namespace

CollectiveCase::CollectiveCase(const CaseContext& context, const Places& places,
                               std::unique_ptr<Contents> contents)
    : places_(places),
      contents_(std::move(contents)),
      slots_(slots_of(context, places)),
      writes_(context.axis(kTouch) == "sender" && places.out_bytes > 0),
      out_(context.memory, out_buffer(places), slots_, context.offset),
      in_(context.memory, in_buffer(places), slots_, context.offset) {}

void* CollectiveCase::out(std::size_t slot) const {
  return out_buffer(places_) == 0 ? nullptr : out_.slot(slot);
}

void* CollectiveCase::in(std::size_t slot) const {
  return in_buffer(places_) == 0 ? nullptr : in_.slot(slot);
}

void CollectiveCase::touch(std::size_t slot) const {
  if (!writes_) return;
  char* const from = places_.in_place ? in_.slot(slot) + *places_.in_place : out_.slot(slot);
  write_lines(from, places_.out_bytes);
}

void CollectiveCase::begin_round(std::uint64_t round, Part) {
  next_ = 0;
  const std::size_t count = round == 0 ? slots_ : 1;
  in_.spoil(kSeed, 0, 1);
  for (std::size_t slot = 0; slot < count && places_.out_bytes > 0; ++slot) {
    SlotBuffer& from = places_.in_place ? in_ : out_;
    contents_->write(from.memory(), from.slot(slot) + places_.in_place.value_or(0), round);
  }
}

std::optional<Mismatch> CollectiveCase::wrong(std::uint64_t round, Part) const {
  // What was timed has sent again and again what it had received.
  if (round == 0 && places_.in_place && places_.overwritten) return std::nullopt;
  std::vector<unsigned char> got(in_.layout().stride);
  in_.memory().to_host(got.data(), in_.slot(0), got.size());
  auto bad = contents_->find_wrong(got.data(), round);
  if (!bad) bad = find_in_gap(got.data(), in_.layout(), kSeed);
  if (bad) bad->whole = in_.layout().bytes;
  return bad;
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
