// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "accel/kernels/kernels.hpp"
#include "app/on_device.hpp"
#include "app/particles.hpp"

namespace nearpeak::particles {
namespace {

constexpr unsigned kThreads = 128;  // of a block
// Each of the threads that look through all particles counts on its own. So many counts are added
// up by a device, the sums by the CPU, which is told of few.
constexpr std::uint64_t kGroup = 128;
constexpr std::uint64_t kMostCounters = 16384;

LaunchShape threads(std::uint64_t work) { return threads_for(work, 1ULL << 31, kThreads); }

class OnDevice final : public Particles {
 public:
  OnDevice(const CaseContext& context, const Motion& motion, std::uint64_t record_bytes)
      : Particles(context, motion, record_bytes),
        device_(*context.device),
        counters_((std::clamp<std::uint64_t>(motion.count() / 8, 1, kMostCounters) + kGroup - 1) /
                  kGroup * kGroup),
        groups_(counters_ / kGroup),
        stream_(device_.new_stream()),
        program_(kernels_of(device_, kernels::kParticles)),
        mark_(program_.kernel("particles_mark")),
        add_up_(program_.kernel("particles_add_up")),
        list_(program_.kernel("particles_list")),
        pack_(program_.kernel("particles_pack")),
        unpack_(program_.kernel("particles_unpack")),
        records_(context.memory, motion.count() * record_bytes, 1),
        directions_(device_memory(), motion.moving(), 1),
        marks_(device_memory(), motion.count(), 1),
        counts_(device_memory(), kDirections * counters_ * sizeof(std::uint32_t), 1),
        sums_(device_memory(), sums_bytes(), 1),
        sums_here_(device_.memory(BufferKind::kPinned), sums_bytes(), 1),
        leaving_(device_memory(), motion.moving() * sizeof(std::uint32_t), 1) {
    directions_.memory().from_host(directions_.slot(0), motion.directions().data(),
                                   motion.directions().size());
  }

  Counts find_leaving(std::uint64_t shift) override {
    const void* const records = records_.slot(0);
    const void* const directions = directions_.slot(0);
    const void* const marks = marks_.slot(0);
    const void* const counts = counts_.slot(0);
    const void* const sums = sums_.slot(0);
    const std::uint64_t words = record_bytes_ / sizeof(std::uint64_t);
    const std::uint64_t all = motion_.count();
    const std::uint64_t moving = motion_.moving();
    const std::uint64_t groups = kDirections * groups_;
    mark_->launch(
        threads(counters_),
        {&marks, &counts, &records, &words, &all, &shift, &moving, &directions, &counters_},
        *stream_);
    add_up_->launch(threads(groups), {&sums, &counts, &kGroup, &groups}, *stream_);
    device_.copy_async(sums_here_.slot(0), sums, sums_bytes(), *stream_);
    stream_->synchronize();
    const std::uint32_t* sum = sums_here();
    Counts found{};
    std::uint64_t left = moving;
    for (std::uint64_t& count : found) {
      count = std::min(left, std::accumulate(sum, sum + groups_, std::uint64_t{0}));
      left -= count;
      sum += groups_;
    }
    return found;
  }

  void pack(const std::array<int, kDirections>& order) override {
    std::uint32_t begin = 0;  // of each group's in the list, in place of its sum
    for (const int direction : order) {
      std::uint32_t* const group = sums_here() + static_cast<std::uint64_t>(direction) * groups_;
      for (std::uint64_t i = 0; i < groups_; ++i) begin += std::exchange(group[i], begin);
    }
    device_.copy_async(sums_.slot(0), sums_here_.slot(0), sums_bytes(), *stream_);
    const void* const leaving = leaving_.slot(0);
    const void* const marks = marks_.slot(0);
    const void* const counts = counts_.slot(0);
    const void* const sums = sums_.slot(0);
    const std::uint64_t all = motion_.count();
    const std::uint64_t moving = motion_.moving();
    list_->launch(threads(counters_),
                  {&leaving, &marks, &counts, &sums, &all, &kGroup, &counters_, &moving}, *stream_);
    copy(*pack_, out(), std::min<std::uint64_t>(begin, moving));
  }

  void unpack(std::uint64_t count) override { copy(*unpack_, in(), count); }

  // By the CPU, in pieces that it has room for anywhere.
  void set(int rank, std::uint64_t round) override {
    for_pieces([&](std::uint64_t first, std::uint64_t count, std::uint64_t* piece) {
      write_records(piece, first, count, motion_, record_bytes_, rank, round);
      records_.memory().from_host(place(first), piece, count * record_bytes_);
    });
  }
  Look look(const std::vector<std::uint32_t>& homes, std::uint64_t round) override {
    RecordChecker checker(motion_, record_bytes_, homes, round);
    for_pieces([&](std::uint64_t first, std::uint64_t count, std::uint64_t* piece) {
      records_.memory().to_host(piece, place(first), count * record_bytes_);
      checker.add(piece, count);
    });
    return checker.look();
  }

 private:
  Memory& device_memory() { return device_.memory(BufferKind::kDevice); }
  std::size_t sums_bytes() const { return kDirections * groups_ * sizeof(std::uint32_t); }
  std::uint32_t* sums_here() const { return reinterpret_cast<std::uint32_t*>(sums_here_.slot(0)); }

  char* place(std::uint64_t record) const { return records_.slot(0) + record * record_bytes_; }

  // use(first record, count, room for them)
  template <class Use>
  void for_pieces(Use use) {
    constexpr std::uint64_t kPiece = 1 << 15;
    std::vector<std::uint64_t> piece(std::min(kPiece, motion_.count()) * record_bytes_ /
                                     sizeof(std::uint64_t));
    for (std::uint64_t first = 0; first < motion_.count(); first += kPiece)
      use(first, std::min(kPiece, motion_.count() - first), piece.data());
  }

  // Packs, or unpacks.
  void copy(Kernel& kernel, const SlotBuffer& buffer, std::uint64_t count) {
    const void* const message = buffer.slot(0);
    const void* const records = records_.slot(0);
    const void* const leaving = leaving_.slot(0);
    const std::uint64_t pieces = record_bytes_ / 16;
    if (count > 0)
      kernel.launch(threads(count * pieces), {&message, &records, &leaving, &count, &pieces},
                    *stream_);
    stream_->synchronize();
  }

  Device& device_;
  const std::uint64_t counters_;  // of each direction
  const std::uint64_t groups_;    // of them
  const std::unique_ptr<Stream> stream_;
  Program& program_;
  const std::unique_ptr<Kernel> mark_;
  const std::unique_ptr<Kernel> add_up_;
  const std::unique_ptr<Kernel> list_;
  const std::unique_ptr<Kernel> pack_;
  const std::unique_ptr<Kernel> unpack_;
  SlotBuffer records_;
  SlotBuffer directions_;
  SlotBuffer marks_;
  SlotBuffer counts_;
  SlotBuffer sums_;
  SlotBuffer sums_here_;
  SlotBuffer leaving_;
};

}  // namespace

std::unique_ptr<Particles> on_device(const CaseContext& context, const Motion& motion,
                                     std::uint64_t record_bytes) {
  return std::make_unique<OnDevice>(context, motion, record_bytes);
}

}  // namespace nearpeak::particles
