// SPDX-License-Identifier: Apache-2.0
// The sum of what every rank has, on every rank. The time is that of the slowest rank, behind a
// barrier.
#include <mpi.h>

#include "benchmark/benchmark.hpp"
#include "mpi/mpi_group.hpp"
#include "payload/numbers.hpp"

namespace nearpeak {
namespace {

template <class T>
class Allreduce final : public Case {
 public:
  Allreduce(const CaseContext& context, MPI_Datatype type)
      : context_(context),
        type_(type),
        count_(context.bytes / sizeof(T)),
        slots_(context.axis(kReuse) == "rotating"
                   ? rotating_windows(context.bytes, 1, context.cache_bytes)
                   : 1),
        out_(context.memory, context.bytes, slots_, context.offset),
        in_(context.memory, context.bytes, slots_, context.offset) {
    for (std::size_t slot = 0; slot < slots_; ++slot) lay_out(slot, 0);
  }

  void run(std::uint64_t n) override {
    const bool writes = context_.axis(kTouch) == "sender";
    for (std::uint64_t i = 0; i < n; ++i) {
      if (writes) write_lines(out_.slot(next_), context_.bytes);
      MPI_Allreduce(out_.slot(next_), in_.slot(next_), static_cast<int>(count_), type_, MPI_SUM,
                    comm_of(context_.group));
      if (++next_ == slots_) next_ = 0;
    }
  }
  std::vector<double> values(const Times& times) const override { return {times.us}; }
  std::uint64_t cycle() const override { return slots_; }

  void begin_round(std::uint64_t round, Part) override {
    next_ = 0;
    lay_out(0, round);
    in_.spoil(kSeed, 0, 1);
  }
  std::optional<Mismatch> wrong(std::uint64_t round, Part) const override {
    std::vector<unsigned char> got(in_.layout().stride);
    in_.memory().to_host(got.data(), in_.slot(0), got.size());
    const auto sum = find_wrong_sum<T>(got.data(), count_, context_.group.size(), round);
    return sum ? sum : find_in_gap(got.data(), in_.layout(), kSeed);
  }

 private:
  static constexpr std::uint64_t kSeed = 1;

  void lay_out(std::size_t slot, std::uint64_t round) {
    std::vector<unsigned char> values(context_.bytes);
    fill_numbers<T>(values.data(), count_, context_.group.rank(), round);
    out_.memory().from_host(out_.slot(slot), values.data(), values.size());
  }

  const CaseContext context_;
  const MPI_Datatype type_;
  const std::size_t count_;
  const std::size_t slots_;
  SlotBuffer out_;
  SlotBuffer in_;
  std::size_t next_ = 0;
};

template <class T>
std::unique_ptr<Case> make(const CaseContext& context, MPI_Datatype type) {
  if (context.bytes % sizeof(T) != 0)
    throw Unfit(context.axis("type") + " has " + std::to_string(sizeof(T)) +
                " bytes: sizes are multiples of that");
  return std::make_unique<Allreduce<T>>(context, type);
}

const Register entry({
    .info = {.name = "allreduce",
             .summary = "time until every rank has the sum of what all ranks have: MPI_Allreduce",
             .metrics = {{"allreduce", "us", "lower"}},
             .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 2},
             .smallest = 4,
             .axes = {{"type", {"float", "int", "double"}, "of the numbers that are added up"}},
             .moves = {.ways = 2},
             .sync = Sync::kBarrier,
             .reduce = Reduce::kMaximum},
    .make = [](const CaseContext& context) -> std::unique_ptr<Case> {
      const std::string& type = context.axis("type");
      if (type == "int") return make<int>(context, MPI_INT);
      if (type == "double") return make<double>(context, MPI_DOUBLE);
      return make<float>(context, MPI_FLOAT);
    },
});

}  // namespace
}  // namespace nearpeak
