// SPDX-License-Identifier: Apache-2.0
// Kernels with a message between each two: a kernel reads what the message before it has brought,
// and writes what the one behind it takes away. It is measured by the device's clock how long the
// device has none of these kernels: from the end of one to the begin of the next.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

inline constexpr std::size_t kLargestHandedOver = std::size_t{1} << 20;  // by one block of threads

// What a rank sends in a round, and what it must receive.
using HandedOver = std::function<std::vector<char>(std::uint64_t round)>;

class ChainCase : public Case {
 public:
  static constexpr std::uint64_t kMessages = 20;  // of a chain

  // Kernels go into `stream`, or, if that is null, into one of its own. Collective. Throws Unfit on
  // all ranks.
  ChainCase(const CaseContext& context, Stream* stream, HandedOver sent, HandedOver received);

  void run(std::uint64_t n) override;
  void run_round(std::uint64_t) override { chain(); }
  std::uint64_t operations() const override { return kMessages; }
  const Phases& phases() const override { return phases_; }
  std::vector<double> values(const Times& times) const override { return {times.phases_us[0]}; }
  std::size_t round_bytes() const override { return (kMessages + 3) * bytes_; }
  void begin_round(std::uint64_t round, Part part) override;
  // Each message of the last chain.
  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override;

 protected:
  // The message between two kernels.
  virtual void message() = 0;
  // All that a chain gives to the stream, and until it is done.
  virtual void chain() {
    give();
    stream_.synchronize();
  }
  void give();

  Stream& stream() const { return stream_; }
  void* out() const { return out_->slot(0); }
  void* in() const { return in_->slot(0); }

 private:
  void launch(std::uint64_t kernel) const;
  void add_gaps();

  const std::size_t bytes_;
  const HandedOver sent_;
  const HandedOver received_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> own_stream_;
  Stream& stream_;
  std::optional<SlotBuffer> out_;
  std::optional<SlotBuffer> in_;
  std::optional<SlotBuffer> source_;  // what kernels copy into `out`
  std::optional<SlotBuffer> seen_;    // what each has found in `in`
  std::optional<SlotBuffer> times_;
  Phases phases_;
};

// As `info` says it; the rest of it is as all of them have it.
Benchmark handoff(BenchmarkInfo info, std::vector<Axis> axes,
                  std::function<std::unique_ptr<Case>(const CaseContext&)> make);

// Of a halo: both ranks send as many bytes.
HandedOver halo_of(int sender, std::size_t bytes);
// Of doubles: those of one rank, and the sums of all.
HandedOver doubles_of(int rank, std::size_t bytes);
HandedOver sums_of_doubles(int ranks, std::size_t bytes);

}  // namespace nearpeak
