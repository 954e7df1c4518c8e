// SPDX-License-Identifier: Apache-2.0
// The exchange pattern of a weather model beside a computation: several sets of fields are updated
// in turn, and what one needs of its neighbours goes on its way while others are updated. Shape and
// modes are after MeteoSwiss' comm_overlap_bench for COSMO; the update is a linear mean, and none
// of COSMO's dynamics (docs/reference/sources.md).
#include <exception>
#include <vector>

#include "app/cosmo_fields.hpp"
#include "app/exchange.hpp"
#include "benchmark/check_memory.hpp"

namespace nearpeak {
namespace {

using cosmo::Fields;
using cosmo::Patch;

enum Phase : std::size_t { kCompute, kPack, kCommunicate, kUnpack };

Patch patch_of(const CaseContext& context, std::size_t side) {
  // As many exchanges go on as updates are in flight, and one update is computed meanwhile.
  return {.side = side,
          .fields = std::stoull(context.axis("fields")),
          .sets = std::stoull(context.axis("updates")) + 1,
          .grid = near_square(context.group.size()),
          .rank = context.group.rank()};
}

// Throws Unfit on all ranks.
Patch own_patch(const CaseContext& context) {
  check_memory(
      context, cosmo::kHalo,
      [&](std::size_t side) { return cosmo::bytes_of(patch_of(context, side)); }, "the fields");
  return patch_of(context, context.bytes);
}

// A rank that is a neighbour at both sides takes at one what goes out at the other, and the order
// of its messages is the same at both ends.
std::vector<Link> links_of(const Patch& patch, Fields& fields, std::size_t set) {
  const auto all = patch.neighbours();
  std::vector<Link> links;
  for (const Side side : kSides) {
    const bool twice = all[side] == all[opposite(side)];
    links.push_back(
        {all[side], &fields.out(set, side), &fields.in(set, twice ? opposite(side) : side)});
  }
  return links;
}

// Updates, one after the other, and their exchanges, of which some are on their way.
class Updates {
 public:
  Updates(const CaseContext& context, const Patch& patch)
      : patch_(patch),
        computes_(context.axis("mode") != "nocomp"),
        exchanges_(context.axis("mode") != "nocomm"),
        waits_after_(context.axis("mode") == "deferred"),
        in_flight_(context.axis("mode") == "sync" || !computes_ ? 0 : patch.sets - 1),
        phases_(parts(computes_, exchanges_,
                      on_device(context.kind) && in_flight_ > 0 && !waits_after_)) {
    on_every_rank(context.group, [&] {
      fields_ = on_device(context.kind) ? cosmo::fields_on_device(context, patch)
                                        : cosmo::fields_on_host(context, patch);
    });
    if (!exchanges_) return;
    for (std::size_t set = 0; set < patch.sets; ++set)
      links_.push_back(std::make_unique<Exchange>(context, links_of(patch, *fields_, set)));
  }
  // Nothing is given back that a message may still be written to.
  ~Updates() {
    if (std::uncaught_exceptions() == 0) failure_of([this] { settle(); });
  }

  bool computes() const { return computes_; }
  bool exchanges() const { return exchanges_; }
  Fields& fields() { return *fields_; }
  Phases& phases() { return phases_; }

  // Of one update; of messages those that it waits for.
  Work work() {
    Work work{.copied_bytes = computes_ ? patch_.cells() * sizeof(double) : 0};
    if (!exchanges_ || in_flight_ > 0) return work;
    const auto all = patch_.neighbours();
    for (const Side side : kSides)
      work.sends(fields_->out(0, side).layout().bytes, all[side] == patch_.rank);
    return work;
  }

  void begin_round(std::uint64_t round) {
    settle();
    begun_ = finished_ = 0;
    fields_->set(round, computes_);
  }

  void update() {
    const std::size_t set = begun_ % patch_.sets;
    phases_.start();
    if (computes_) {
      fields_->update(set);
      lap(kCompute);
    }
    if (exchanges_ && !waits_after_) finish_but(in_flight_ == 0 ? 0 : in_flight_ - 1);
    if (computes_) {
      fields_->finish_update();
      lap(kCompute);
    }
    if (!exchanges_) {
      ++begun_;
      return;
    }
    fields_->pack(set);
    lap(kPack);
    links_[set]->begin();
    ++begun_;
    lap(kCommunicate);
    if (waits_after_ || in_flight_ == 0) finish_but(in_flight_);
  }

  // Nothing is on its way any more.
  void settle() {
    if (exchanges_) finish_but(0);
  }

 private:
  // In the order in which they were begun.
  void finish_but(std::uint64_t so_many) {
    while (begun_ - finished_ > so_many) {
      const std::size_t set = finished_++ % patch_.sets;
      links_[set]->finish();
      lap(kCommunicate);
      fields_->unpack(set);
      lap(kUnpack);
    }
  }

  // Those that a mode has, in the order of Phase.
  static std::vector<std::string> parts(bool computes, bool exchanges, bool beside) {
    if (!exchanges) return {"compute"};
    if (!computes) return {"pack", "communicate", "unpack"};
    return {beside ? kExposedCompute : "compute", "pack", "communicate", "unpack"};
  }
  void lap(Phase phase) { phases_.lap(computes_ ? phase : phase - kPack); }

  const Patch patch_;
  const bool computes_;
  const bool exchanges_;
  const bool waits_after_;  // for an exchange until that of another update has begun
  const std::uint64_t in_flight_;
  std::unique_ptr<Fields> fields_;
  std::vector<std::unique_ptr<Exchange>> links_;
  std::uint64_t begun_ = 0;  // updates
  std::uint64_t finished_ = 0;
  Phases phases_;
};

// An iteration updates every set once.
class Cosmo final : public Case {
 public:
  explicit Cosmo(const CaseContext& context)
      : patch_(own_patch(context)),
        cells_(static_cast<double>(patch_.cells()) * context.group.size()),
        updates_(std::make_unique<Updates>(context, patch_)) {}

  const Phases& phases() const override { return updates_->phases(); }
  std::optional<Work> work() const override { return updates_->work(); }
  std::uint64_t operations() const override { return patch_.sets; }
  std::vector<double> values(const Times& times) const override {
    return {times.us, cells_ / times.us / 1e3};
  }

  std::size_t round_bytes() const override { return cosmo::bytes_of(patch_); }

  void begin_round(std::uint64_t round, Part) override { updates_->begin_round(round); }

  void run(std::uint64_t n) override {
    updates_->phases().clear();
    for (std::uint64_t i = 0; i < n * patch_.sets; ++i) updates_->update();
  }
  void run_round(std::uint64_t) override { run(static_cast<std::uint64_t>(looked_at_after())); }

  std::optional<Mismatch> wrong(std::uint64_t round, Part) const override {
    updates_->settle();
    for (std::size_t set = 0; set < patch_.sets; ++set) {
      const int updates = updates_->computes() ? looked_at_after() : 0;
      const auto values = cosmo::values_of(patch_, set, round, updates);
      const auto found = updates_->fields().find_wrong(set, values, updates_->exchanges());
      if (!found) continue;
      return Mismatch{.slot = set,
                      .byte = found->cell * sizeof(double),
                      .expected = cell_byte(found->expected, 1024),
                      .got = cell_byte(found->got, 1024),
                      .whole = cosmo::Layout(patch_).cells * sizeof(double)};
    }
    return std::nullopt;
  }

 private:
  // Iterations of a round. Whether an update reads what was received after the one before, only a
  // second one shows.
  int looked_at_after() const { return updates_->computes() && updates_->exchanges() ? 2 : 1; }

  const Patch patch_;
  const double cells_;  // of an update, of all ranks
  const std::unique_ptr<Updates> updates_;
};

const Register entry(Benchmark{
    .info =
        {.name = "cosmo",
         .summary = "time of an update in the exchange pattern of a weather model, 60 levels of "
                    "columns of cells on each rank with halos of 3 cells; cells become a weighted "
                    "mean, in the place of a model's dynamics",
         .metrics = {{"cosmo", "us", "lower"}, {"cosmo_rate", "GLUP/s", "higher"}},
         .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 1},
         .smallest = cosmo::kHalo,
         .largest = 1024,
         .axes = {{"mode",
                   {"sync", "async", "deferred", "nocomm", "nocomp"},
                   "sync: exchanged, then the next is computed; async: others are computed "
                   "meanwhile, and it is finished before the next exchange begins; deferred: after "
                   "that; nocomm: computed alone; nocomp: exchanged alone"},
                  {"fields", {"4", "8", "16"}, "fields that are updated together"},
                  {"updates", {"1", "2"}, "exchanges that go on while another update is computed"}},
         .x = {.name = "side", .unit = "cells", .usual = {128}},
         .staged = true,
         .reduce = Reduce::kMaximum},
    .make = [](const CaseContext& context) -> std::unique_ptr<Case> {
      return std::make_unique<Cosmo>(context);
    }});

}  // namespace
}  // namespace nearpeak
