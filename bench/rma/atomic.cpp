// SPDX-License-Identifier: Apache-2.0
#include "rma/atomic.hpp"

#include <algorithm>
#include <cstring>

#include "benchmark/slots.hpp"

namespace nearpeak {
namespace {

constexpr std::uint64_t kMostDrawn = 31;
constexpr std::uint64_t kSeed = 1;  // of the gaps, and of results before they are
// Streams of drawn numbers.
constexpr std::uint64_t kHeld = 1;
constexpr std::uint64_t kGiven = 2;

void store_long(void* to, std::uint64_t number) { std::memcpy(to, &number, sizeof number); }

std::uint64_t given(std::size_t, std::size_t index, std::uint64_t round) {
  return drawn_number(index, kGiven, round);
}
std::uint64_t sum(std::uint64_t done, std::size_t index, std::uint64_t round) {
  return drawn_number(index, kHeld, round) + done * drawn_number(index, kGiven, round);
}

Atoms added(const Elements& elements) {
  return {.type = &elements.type,
          .mpi = elements.mpi,
          .count = elements.count,
          .operand = given,
          .held = sum};
}

// Of the operands, of which each operation on a slot takes another row.
std::size_t operand_stride(const Atoms& atoms) {
  return SlotBuffer::stride(atoms.operands * atoms.count * atoms.type->bytes);
}

// `count` numbers, of which number_at() says those of the first kDrawn indices.
template <class NumberAt>
std::vector<unsigned char> numbers(const NumberType& type, std::size_t count, NumberAt number_at) {
  std::vector<unsigned char> drawn(kDrawn * type.bytes);
  for (std::size_t i = 0; i < kDrawn; ++i)
    type.store(&drawn[drawn_place(i) * type.bytes], number_at(i));
  std::vector<unsigned char> out(count * type.bytes);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(&out[i * type.bytes], &drawn[drawn_place(i) * type.bytes], type.bytes);
  return out;
}

}  // namespace

std::uint64_t drawn_number(std::size_t index, std::uint64_t stream, std::uint64_t round) {
  const std::uint64_t seed = (stream << 40) + (round << 20);
  constexpr std::size_t kRow = 16 * kDrawn;
  return 1 + payload_word({seed}, 0, 1 + drawn_place(index), kRow) % kMostDrawn;
}

const NumberType& long_type() {
  static const NumberType type{"long", 8, std::numeric_limits<std::int64_t>::max(), store_long};
  return type;
}

Adding::Adding(const CaseContext& context) : atoms_(added(Elements(context))) {}

Atoms Adding::one_long() {
  return {.type = &long_type(), .mpi = MPI_INT64_T, .count = 1, .operand = given, .held = sum};
}

AtomicCase::AtomicCase(const CaseContext& context, const Atoms& atoms, bool fetches)
    : atoms_(atoms),
      fetches_(fetches),
      writes_(context.axis(kTouch) == "sender" && context.group.leads()),
      slots_(slots_for_one(context, bytes(), operand_stride(atoms_))),
      window_(context, bytes(), slots_,
              {.origin = context.group.leads(), .target = !context.group.leads()},
              slots_ * (operand_stride(atoms) + SlotBuffer::stride(bytes())),
              // All operands and a row of them, or a slot and what it must hold.
              (atoms.operands + 1) * SlotBuffer::stride(bytes())) {
  on_every_rank(context.group, [&] {
    operands_ = std::make_unique<SlotBuffer>(context.memory, atoms_.operands * bytes(), slots_,
                                             context.offset);
    results_ = std::make_unique<SlotBuffer>(context.memory, bytes(), slots_, context.offset);
  });
}

void AtomicCase::write(SlotBuffer& buffer, std::size_t slots,
                       const std::vector<unsigned char>& data) {
  buffer.poison(kSeed, 0, slots);
  for (std::size_t slot = 0; slot < slots; ++slot)
    buffer.memory().from_host(buffer.slot(slot), data.data(), data.size());
}

void AtomicCase::begin_round(std::uint64_t round, Part) {
  slot_ = 0;
  turn_ = 0;
  const std::size_t used = round == 0 ? slots_ : 1;
  if (window_.is_target())
    write(window_.buffer(), used, numbers(*atoms_.type, atoms_.count, [&](std::size_t index) {
            return atoms_.held(0, index, round);
          }));
  if (window_.is_origin()) {
    std::vector<unsigned char> rows;
    rows.reserve(atoms_.operands * bytes());
    for (std::size_t row = 0; row < atoms_.operands; ++row) {
      const auto operands = numbers(*atoms_.type, atoms_.count, [&](std::size_t index) {
        return atoms_.operand(row, index, round);
      });
      rows.insert(rows.end(), operands.begin(), operands.end());
    }
    write(*operands_, used, rows);
    results_->poison(kSeed, 0, used);
  }
  window_.open();
}

// A slot, after so many operations on it.
std::optional<Mismatch> AtomicCase::look(const SlotBuffer& buffer, std::size_t slot,
                                         std::uint64_t done, std::uint64_t round) const {
  const auto expected = numbers(*atoms_.type, atoms_.count,
                                [&](std::size_t index) { return atoms_.held(done, index, round); });
  std::vector<unsigned char> got(buffer.layout().stride);
  buffer.memory().to_host(got.data(), buffer.slot(slot), got.size());
  const auto at = std::mismatch(expected.begin(), expected.end(), got.begin());
  if (at.first == expected.end()) return find_in_gap(got.data(), buffer.layout(), kSeed, slot);
  return Mismatch{.slot = slot,
                  .byte = static_cast<std::size_t>(at.first - expected.begin()),
                  .expected = *at.first,
                  .got = *at.second};
}

std::optional<Mismatch> AtomicCase::wrong(std::uint64_t round, Part) const {
  window_.settle();
  // What was timed has added up to more than the type has exactly.
  if (kMostDrawn * (done_on(0) + 1) > atoms_.type->exact) return std::nullopt;
  const std::size_t used = turn_ > 0 ? slots_ : slot_;
  const std::size_t most = most_looked_at(SlotBuffer::stride(bytes()));
  for (std::size_t slot = 0; slot < std::min(used, most); ++slot) {
    const std::uint64_t done = done_on(slot);
    auto bad = window_.is_target() ? look(window_.buffer(), slot, done, round) : std::nullopt;
    if (window_.is_origin() && fetches_) bad = look(*results_, slot, done - 1, round);
    if (!bad) continue;
    bad->whole = bytes();
    return bad;
  }
  return std::nullopt;
}

Benchmark atomic_benchmark(BenchmarkInfo info, std::vector<Axis> axes,
                           std::function<std::unique_ptr<Case>(const CaseContext&)> make) {
  info.metrics = {{info.name, "us", "lower"}};
  info.symmetric = false;
  info.bound_by = "latency";
  info.one_sided = OneSided::kPut;
  info.axes = window_axes();
  for (Axis& axis : axes) info.axes.push_back(std::move(axis));
  return {.info = std::move(info), .make = std::move(make)};
}

}  // namespace nearpeak
