// SPDX-License-Identifier: Apache-2.0
// Particles that move to the ranks around: found, packed, their numbers and then they themselves
// sent, and put where others have left: as HOOMD-blue does (Glaser et al.,
// doi:10.1016/j.cpc.2015.02.028; docs/reference/sources.md).
#include <mpi.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "app/particles.hpp"
#include "benchmark/check_memory.hpp"
#include "mpi/methods.hpp"
#include "mpi/mpi_group.hpp"

namespace nearpeak {
namespace {

using particles::Blocks;
using particles::kDirections;
using particles::Motion;
using particles::Particles;

enum Phase : std::size_t { kCount, kPack, kCommunicate, kUnpack };

// Messages of a step: one to each partner, of those that go in some of the directions, and one from
// each.
class Partners {
 public:
  // `partner_of` a direction, of so many.
  Partners(int partners, std::uint64_t record_bytes, const Motion& motion,
           const std::array<int, kDirections>& partner_of)
      : record_bytes_(record_bytes),
        room_(motion.room()),
        partner_of_(partner_of),
        out_(static_cast<std::size_t>(partners)),
        in_(static_cast<std::size_t>(partners)) {
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int first, int second) {
      return partner_of[static_cast<std::size_t>(first)] <
             partner_of[static_cast<std::size_t>(second)];
    });
  }
  virtual ~Partners() = default;

  // In which the particles that leave are packed.
  const std::array<int, kDirections>& order() const { return order_; }
  // How many must come from each, at every step.
  void expect(std::vector<int> counts) { expected_ = std::move(counts); }
  const std::vector<int>& expected() const { return expected_; }
  // Their numbers go first. Returns how many have come.
  std::uint64_t exchange(const Particles::Counts& leaving, const char* out, char* in) {
    std::fill(out_.counts.begin(), out_.counts.end(), 0);
    for (std::size_t i = 0; i < leaving.size(); ++i)
      out_.counts[static_cast<std::size_t>(partner_of_[i])] += static_cast<int>(leaving[i]);
    send_counts();
    place(out_);
    if (!has_room()) {
      // Nobody sends so many. All go on, as the ranks have to, and wrong data is told afterwards.
      impossible_ = in_.counts;
      in_.counts = expected_;
    }
    const std::uint64_t come = place(in_);
    send(out, in);
    return come;
  }
  // At the last step, or at one at which it could not be.
  const std::vector<int>& come() const { return impossible_.empty() ? in_.counts : impossible_; }

 protected:
  struct Side {
    explicit Side(std::size_t partners) : counts(partners), bytes(partners), starts(partners) {}
    std::vector<int> counts;  // of particles
    std::vector<int> bytes;
    std::vector<int> starts;  // in the buffer
  };
  virtual void send_counts() = 0;
  virtual void send(const char* out, char* in) = 0;

  Side& out() { return out_; }
  Side& in() { return in_; }

 private:
  // Numbers below 0 are more than any room.
  bool has_room() const {
    return std::accumulate(in_.counts.begin(), in_.counts.end(), std::uint64_t{0},
                           [](std::uint64_t all, int count) {
                             return all + static_cast<std::uint32_t>(count);
                           }) <= room_;
  }
  std::uint64_t place(Side& side) const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < side.counts.size(); ++i) {
      side.bytes[i] = side.counts[i] * static_cast<int>(record_bytes_);
      side.starts[i] = static_cast<int>(all * record_bytes_);
      all += static_cast<std::uint64_t>(side.counts[i]);
    }
    return all;
  }

  const std::uint64_t record_bytes_;
  const std::uint64_t room_;
  const std::array<int, kDirections> partner_of_;
  std::array<int, kDirections> order_{};
  Side out_;
  Side in_;
  std::vector<int> expected_;
  std::vector<int> impossible_;  // numbers that have come
};

// Each direction is a partner of its own, also where one rank is next to another in several.
constexpr std::array<int, kDirections> each_direction() {
  std::array<int, kDirections> all{};
  for (int i = 0; i < kDirections; ++i) all[static_cast<std::size_t>(i)] = i;
  return all;
}

class ByIsend final : public Partners {
 public:
  ByIsend(MPI_Comm comm, const Blocks& blocks, int rank, std::uint64_t record_bytes,
          const Motion& motion)
      : Partners(kDirections, record_bytes, motion, each_direction()), comm_(comm) {
    for (int direction = 0; direction < kDirections; ++direction) {
      to_.push_back(blocks.next(rank, direction));
      from_.push_back(blocks.next(rank, Blocks::opposite(direction)));
    }
  }

 private:
  static constexpr int kCountTag = 1;  // and all that follow, by direction
  static constexpr int kTag = kCountTag + kDirections;

  void send_counts() override {
    for (int i = 0; i < kDirections; ++i)
      MPI_Irecv(&in().counts[place(i)], 1, MPI_INT, from_[place(i)], kCountTag + i, comm_,
                &requests_[open_++]);
    for (int i = 0; i < kDirections; ++i)
      MPI_Isend(&out().counts[place(i)], 1, MPI_INT, to_[place(i)], kCountTag + i, comm_,
                &requests_[open_++]);
    finish();
  }
  void send(const char* out_data, char* in_data) override {
    for (int i = 0; i < kDirections; ++i)
      if (in().bytes[place(i)] > 0)
        MPI_Irecv(in_data + in().starts[place(i)], in().bytes[place(i)], MPI_BYTE, from_[place(i)],
                  kTag + i, comm_, &requests_[open_++]);
    for (int i = 0; i < kDirections; ++i)
      if (out().bytes[place(i)] > 0)
        MPI_Isend(out_data + out().starts[place(i)], out().bytes[place(i)], MPI_BYTE, to_[place(i)],
                  kTag + i, comm_, &requests_[open_++]);
    finish();
  }
  void finish() {
    MPI_Waitall(static_cast<int>(open_), requests_.data(), MPI_STATUSES_IGNORE);
    open_ = 0;
  }
  static std::size_t place(int direction) { return static_cast<std::size_t>(direction); }

  MPI_Comm comm_;
  std::vector<int> to_;
  std::vector<int> from_;
  std::array<MPI_Request, 2 * kDirections> requests_{};
  std::size_t open_ = 0;
};

class ByAlltoallv final : public Partners {
 public:
  ByAlltoallv(MPI_Comm comm, const Blocks& blocks, int rank, std::uint64_t record_bytes,
              const Motion& motion)
      : Partners(blocks.ranks(), record_bytes, motion, ranks_of(blocks, rank)), comm_(comm) {}

 private:
  static std::array<int, kDirections> ranks_of(const Blocks& blocks, int rank) {
    std::array<int, kDirections> all{};
    for (int i = 0; i < kDirections; ++i) all[static_cast<std::size_t>(i)] = blocks.next(rank, i);
    return all;
  }
  void send_counts() override {
    MPI_Alltoall(out().counts.data(), 1, MPI_INT, in().counts.data(), 1, MPI_INT, comm_);
  }
  void send(const char* out_data, char* in_data) override {
    MPI_Alltoallv(out_data, out().bytes.data(), out().starts.data(), MPI_BYTE, in_data,
                  in().bytes.data(), in().starts.data(), MPI_BYTE, comm_);
  }

  MPI_Comm comm_;
};

class ByNeighborAlltoallv final : public Partners {
 public:
  ByNeighborAlltoallv(MPI_Comm comm, const Blocks& blocks, int rank, std::uint64_t record_bytes,
                      const Motion& motion)
      : Partners(kDirections, record_bytes, motion, each_direction()) {
    std::array<int, kDirections> to{};
    std::array<int, kDirections> from{};
    for (int i = 0; i < kDirections; ++i) {
      to[static_cast<std::size_t>(i)] = blocks.next(rank, i);
      from[static_cast<std::size_t>(i)] = blocks.next(rank, Blocks::opposite(i));
    }
    MPI_Dist_graph_create_adjacent(comm, kDirections, from.data(), MPI_UNWEIGHTED, kDirections,
                                   to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
  }
  ~ByNeighborAlltoallv() override { MPI_Comm_free(&graph_); }

 private:
  void send_counts() override {
    MPI_Neighbor_alltoall(out().counts.data(), 1, MPI_INT, in().counts.data(), 1, MPI_INT, graph_);
  }
  void send(const char* out_data, char* in_data) override {
    MPI_Neighbor_alltoallv(out_data, out().bytes.data(), out().starts.data(), MPI_BYTE, in_data,
                           in().bytes.data(), in().starts.data(), MPI_BYTE, graph_);
  }

  MPI_Comm graph_ = MPI_COMM_NULL;
};

std::uint64_t record_bytes_of(const CaseContext& context) {
  return std::stoull(context.axis("record"));
}

// Of a rank's particles and their messages.
std::uint64_t bytes_of(const Motion& motion, std::uint64_t record_bytes) {
  return (motion.count() + motion.moving() + motion.room()) * record_bytes;
}

// Throws Unfit on all ranks.
Motion motion_of(const CaseContext& context) {
  const auto motion_at = [&](std::size_t particles) {
    return Motion(particles, std::stod(context.axis("share")), context.axis("skew") == "10to1");
  };
  Motion motion = motion_at(context.bytes);
  if (context.axis(kStaging) == "pipelined")
    throw Unfit("the particles of a step are staged as a whole: no --staging pipelined");
  const std::uint64_t moving = motion.room() * record_bytes_of(context);
  if (moving > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw Unfit("more bytes move at a step than MPI counts");
  check_memory(
      context, 1,
      [&](std::size_t particles) {
        return bytes_of(motion_at(particles), record_bytes_of(context));
      },
      "the particles");
  return motion;
}

class Migrate final : public Case {
 public:
  explicit Migrate(const CaseContext& context)
      : group_(context.group),
        record_bytes_(record_bytes_of(context)),
        blocks_(group_.size()),
        motion_(motion_of(context)),
        staging_(staging_device(context)) {
    on_every_rank(group_, [&] {
      particles_ = on_device(context.kind) ? particles::on_device(context, motion_, record_bytes_)
                                           : particles::on_host(context, motion_, record_bytes_);
      if (staging_ == nullptr) return;
      const std::size_t bytes = motion_.room() * record_bytes_;
      staged_out_.emplace(memory_for_mpi(context), bytes, 1);
      staged_in_.emplace(memory_for_mpi(context), bytes, 1);
    });
    partners_ = make_partners(context.axis("exchange"));
    std::vector<int> expected;
    for (std::size_t i = 0; i < partners_->come().size(); ++i)
      expected.push_back(expected_from(static_cast<int>(i)));
    partners_->expect(std::move(expected));
  }

  const Phases& phases() const override { return phases_; }
  std::optional<Work> work() const override {
    Work work{.announced_bytes = sizeof(int)};
    std::vector<std::uint64_t> leaving(by_rank_ ? static_cast<std::size_t>(group_.size())
                                                : std::size_t{kDirections});
    for (int i = 0; i < kDirections; ++i) {
      const int next = blocks_.next(group_.rank(), i);
      const std::uint64_t particles = motion_.leaving()[static_cast<std::size_t>(i)];
      if (next == group_.rank())
        work.own_bytes += particles * record_bytes_;
      else
        leaving[static_cast<std::size_t>(by_rank_ ? next : i)] += particles;
    }
    for (const std::uint64_t particles : leaving)
      if (particles > 0) work.messages.push_back(particles * record_bytes_);
    return work;
  }
  std::vector<double> values(const Times& times) const override {
    return {times.us, static_cast<double>(motion_.moving()) * group_.size() / times.us};
  }

  std::size_t round_bytes() const override { return bytes_of(motion_, record_bytes_); }

  // Another round begins at another place of the window.
  void begin_round(std::uint64_t round, Part) override {
    particles_->set(group_.rank(), round);
    first_step_ = step_ = 5 * round;
  }

  void run(std::uint64_t n) override {
    phases_.clear();
    for (std::uint64_t i = 0; i < n; ++i) step();
  }

  std::optional<Mismatch> wrong(std::uint64_t round, Part) const override {
    const auto homes = motion_.homes(blocks_, group_.rank(), first_step_, step_ - first_step_);
    const Particles::Look look = particles_->look(homes, round);
    const std::uint64_t sum = group_.total(look.ids);
    if (look.wrong)
      return mismatch(look.wrong->place * record_bytes_ + look.wrong->word * sizeof(std::uint64_t),
                      look.wrong->expected, look.wrong->got);
    const std::uint64_t ids = motion_.count() * static_cast<std::uint64_t>(group_.size());
    const std::uint64_t expected = ids % 2 == 0 ? ids / 2 * (ids - 1) : (ids - 1) / 2 * ids;
    if (sum != expected) return mismatch(0, expected, sum);
    if (step_ == first_step_) return std::nullopt;
    const auto [must, come] = std::mismatch(partners_->expected().begin(),
                                            partners_->expected().end(), partners_->come().begin());
    if (must == partners_->expected().end()) return std::nullopt;
    return mismatch(0, static_cast<std::uint64_t>(*must), static_cast<std::uint64_t>(*come));
  }

 private:
  std::unique_ptr<Partners> make_partners(const std::string& way) {
    const MPI_Comm comm = comm_of(group_);
    by_rank_ = way == "alltoallv";
    if (way == "isend")
      return std::make_unique<ByIsend>(comm, blocks_, group_.rank(), record_bytes_, motion_);
    if (by_rank_)
      return std::make_unique<ByAlltoallv>(comm, blocks_, group_.rank(), record_bytes_, motion_);
    return std::make_unique<ByNeighborAlltoallv>(comm, blocks_, group_.rank(), record_bytes_,
                                                 motion_);
  }

  void step() {
    phases_.start();
    const auto leaving = particles_->find_leaving(motion_.shift(step_));
    phases_.lap(kCount);
    particles_->pack(partners_->order());
    phases_.lap(kPack);
    const std::uint64_t come = exchange(leaving);
    phases_.lap(kCommunicate);
    const std::uint64_t gone = std::accumulate(leaving.begin(), leaving.end(), std::uint64_t{0});
    particles_->unpack(std::min(come, gone));
    phases_.lap(kUnpack);
    ++step_;
  }

  std::uint64_t exchange(const Particles::Counts& leaving) {
    char* const out = particles_->out().slot(0);
    char* const in = particles_->in().slot(0);
    if (staging_ == nullptr) return partners_->exchange(leaving, out, in);
    char* const host_out = staged_out_->slot(0);
    char* const host_in = staged_in_->slot(0);
    const std::uint64_t go = std::accumulate(leaving.begin(), leaving.end(), std::uint64_t{0});
    if (go > 0) staging_->copy(host_out, out, go * record_bytes_);
    const std::uint64_t come = partners_->exchange(leaving, host_out, host_in);
    if (come > 0) staging_->copy(in, host_in, come * record_bytes_);
    return come;
  }

  // Particles of a partner at each step.
  int expected_from(int partner) const {
    std::uint64_t all = 0;
    for (int direction = 0; direction < kDirections; ++direction)
      if (by_rank_ ? blocks_.next(partner, direction) == group_.rank() : direction == partner)
        all += motion_.leaving()[static_cast<std::size_t>(direction)];
    return static_cast<int>(all);
  }

  // The first byte that differs, of the word at `byte`.
  Mismatch mismatch(std::uint64_t byte, std::uint64_t expected, std::uint64_t got) const {
    unsigned first = 0;
    while (first + 1 < sizeof(expected) && ((expected ^ got) >> (8 * first) & 0xFF) == 0) ++first;
    return {.slot = 0,
            .byte = byte + first,
            .expected = static_cast<unsigned>(expected >> (8 * first) & 0xFF),
            .got = static_cast<unsigned>(got >> (8 * first) & 0xFF),
            .whole = motion_.count() * record_bytes_};
  }

  Group& group_;
  const std::uint64_t record_bytes_;
  const Blocks blocks_;
  const Motion motion_;
  Device* const staging_;  // null: nothing is staged
  std::unique_ptr<Particles> particles_;
  std::optional<SlotBuffer> staged_out_;
  std::optional<SlotBuffer> staged_in_;
  bool by_rank_ = false;  // partners are ranks, not directions
  std::unique_ptr<Partners> partners_;
  Phases phases_{{"count", "pack", "communicate", "unpack"}};
  std::uint64_t first_step_ = 0;
  std::uint64_t step_ = 0;
};

const Register entry(Benchmark{
    .info = {.name = "migrate",
             .summary = "time of a step in which particles move to the ranks around",
             .metrics = {{"migrate", "us", "lower"}, {"migrate_rate", "M/s", "higher"}},
             .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 1},
             .smallest = 1,
             .largest = std::size_t{64} << 20,
             .axes = {{"exchange",
                       {"isend", "alltoallv", "neighbor_alltoallv"},
                       "the calls that exchange first the counts, then the particles"},
                      {"share", {"1", "0.1", "10"}, "percent of the particles that move"},
                      {"record", {"32", "192", "336"}, "bytes of a particle"},
                      {"skew",
                       {"uniform", "10to1"},
                       "uniform: as many particles move in each of the 26 directions; 10to1: ten "
                       "times as many in every second direction"}},
             .x = {.name = "particles", .unit = "particles", .usual = {100000}},
             .staged = true,
             .reduce = Reduce::kMaximum},
    .make = [](const CaseContext& context) -> std::unique_ptr<Case> {
      return std::make_unique<Migrate>(context);
    }});

}  // namespace
}  // namespace nearpeak
