// SPDX-License-Identifier: Apache-2.0
// The halo exchange of a periodic domain, a block of which each rank has: pack what neighbours
// need, exchange it, unpack. Nothing is computed. Who packs is varied as in LLNL's Comb
// (docs/reference/sources.md).
#include <algorithm>
#include <vector>

#include "app/exchange.hpp"
#include "app/halo_cells.hpp"
#include "app/halo_transfer.hpp"
#include "benchmark/check_memory.hpp"
#include "mpi/methods.hpp"
#include "mpi/mpi_group.hpp"
#include "payload/numbers.hpp"

namespace nearpeak {
namespace {

enum Phase : std::size_t { kPack, kCommunicate, kUnpack };

constexpr const char* kFused = "fused";
constexpr const char* kDirect = "direct";
constexpr const char* kByMpi = "mpi";
constexpr const char* kMock = "mock";
constexpr const char* kIsend = "isend";

bool is_flat(const CaseContext& context, bool plane) {
  return !plane && context.axis("block") == "flat";
}

HaloBlock block_of(const CaseContext& context, bool plane, std::size_t size) {
  const auto side = static_cast<std::int64_t>(size);
  const auto part = [side](std::int64_t quarters) {
    return std::max<std::int64_t>(1, side * quarters / 4);
  };
  Triple cells{plane ? 1 : side, side, side};
  if (is_flat(context, plane)) cells = {part(2), part(3), side};
  const int ranks = context.group.size();
  const Grid square = near_square(ranks);
  const BlockGrid grid =
      plane ? BlockGrid{.planes = 1, .rows = square.rows, .columns = square.columns}
            : near_cube(ranks);
  const bool edges = context.axis("neighbours") == (plane ? "8" : "26");
  return {cells,
          std::stoll(context.axis("radius")),
          std::stoll(context.axis("fields")),
          edges,
          grid,
          context.group.rank(),
          plane};
}

std::vector<HaloMessage> messages_of(const CaseContext& context, const HaloBlock& block) {
  return halo_messages(block, context.axis("messages") == "each");
}

// Bytes of the cells, and of messages both ways: of those that MPI packs it may want some more.
std::uint64_t bytes_of(const CaseContext& context, const HaloBlock& block) {
  const std::size_t cell_bytes = number_type(context.axis("type")).bytes;
  const std::string& pack = context.axis("pack");
  std::vector<std::size_t> messages;
  if (pack != kDirect)
    for (const HaloMessage& message : messages_of(context, block))
      messages.push_back(static_cast<std::size_t>(message.cells) * cell_bytes);
  const auto cells = static_cast<std::uint64_t>(block.cells_of_all()) * cell_bytes;
  return (pack == kMock ? 0 : cells) + 2 * MessageBuffers::bytes_of_all(messages);
}

// Throws Unfit on all ranks, as all below do.
HaloBlock own_block(const CaseContext& context, bool plane) {
  HaloBlock block = block_of(context, plane, context.bytes);
  const std::int64_t radius = block.halo[2];
  if (*std::min_element(block.cells.begin() + (plane ? 1 : 0), block.cells.end()) < radius)
    throw Unfit("the block has fewer cells along a side than the halo of radius " +
                std::to_string(radius));
  const auto smallest = static_cast<std::size_t>(is_flat(context, plane) ? 2 * radius : radius);
  check_memory(
      context, smallest,
      [&](std::size_t side) { return bytes_of(context, block_of(context, plane, side)); },
      "the cells and messages");
  return block;
}

void check_axes(const CaseContext& context, std::size_t cell_bytes) {
  const std::string& pack = context.axis("pack");
  if (context.axis(kStaging) != kNoStaging &&
      (pack == kDirect || pack == kByMpi || context.axis("exchange") != kIsend))
    throw Unfit(
        "--staging copies packed messages: it goes with --pack kernel, fused or mock and "
        "--exchange isend");
  if (context.offset % cell_bytes != 0)
    throw Unfit("cells of " + std::to_string(cell_bytes) + " bytes do not go with --offset " +
                std::to_string(context.offset));
}

class Halo final : public Case {
 public:
  Halo(const CaseContext& context, bool plane)
      : group_(context.group),
        type_(number_type(context.axis("type"))),
        block_(own_block(context, plane)),
        messages_(messages_of(context, block_)),
        pack_(context.axis("pack")),
        packed_bytes_(pack_ == kByMpi ? messages_.size() : 0),
        phases_(packs(pack_) ? Phases({"pack", "communicate", "unpack"}) : Phases()),
        round_bytes_(bytes_of(context, block_)) {
    check_axes(context, type_.bytes);
    make_types();
    for (const HaloMessage& message : messages_)
      sent_bytes_ += static_cast<double>(message.cells) * static_cast<double>(type_.bytes);
    on_every_rank(group_, [&] { make_buffers(context); });
    connect(context);
  }

  const Phases& phases() const override { return phases_; }
  std::optional<Work> work() const override {
    Work work;
    for (const HaloMessage& message : messages_)
      work.sends(static_cast<std::size_t>(message.cells) * type_.bytes,
                 message.peer == group_.rank());
    return work;
  }
  std::vector<double> values(const Times& times) const override {
    return {times.us, sent_bytes_ / times.us / 1e3};
  }

  std::size_t round_bytes() const override { return round_bytes_; }

  void begin_round(std::uint64_t round, Part part) override {
    if (cells_) return cells_->set(round, round == 0 ? Part::kAll : part);
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      packed_->out[i].fill(payload(group_.rank(), i, round), round == 0 ? Part::kAll : part);
      if (part == Part::kAll)
        packed_->in[i].poison(payload(messages_[i].peer, messages_[i].other, 0).seed);
    }
  }

  void run(std::uint64_t n) override {
    phases_.clear();
    for (std::uint64_t i = 0; i < n; ++i) iterate();
  }

  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override {
    if (!cells_) return wrong_message(round, part);
    const auto number = cells_->find_wrong(round, part);
    if (!number) return std::nullopt;
    return Mismatch{.slot = 0,
                    .byte = static_cast<std::size_t>(*number) * type_.bytes,
                    .expected = cell_byte(expected(*number, round), 2),
                    .got = cell_byte(cells_->value_at(*number), 2),
                    .whole = static_cast<std::size_t>(block_.cells_of_all()) * type_.bytes};
  }

 private:
  bool packs() const { return packs(pack_); }
  static bool packs(const std::string& pack) { return pack != kDirect && pack != kMock; }

  void make_types() {
    if (pack_ != kDirect && pack_ != kByMpi) return;
    const MPI_Datatype cell = type_.name == "float" ? MPI_FLOAT : MPI_DOUBLE;
    for (const HaloMessage& message : messages_) {
      out_types_.emplace_back(block_, message, block_.outgoing(message.way), cell);
      in_types_.emplace_back(block_, message, block_.incoming(message.way), cell);
    }
  }

  // Of the buffers of packed messages.
  std::vector<std::size_t> message_bytes() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      int packed = 0;
      if (pack_ == kByMpi) MPI_Pack_size(1, out_types_[i].get(), comm(), &packed);
      all.push_back(std::max(static_cast<std::size_t>(packed),
                             static_cast<std::size_t>(messages_[i].cells) * type_.bytes));
    }
    return all;
  }

  void make_buffers(const CaseContext& context) {
    if (pack_ != kDirect) packed_.emplace(context, message_bytes());
    if (pack_ == kMock) return;
    const PackedHalo* const packed = packed_ ? &*packed_ : nullptr;
    cells_ = on_device(context.kind)
                 ? halo_cells_on_device(context, block_, messages_, type_.name, packed)
                 : halo_cells_on_host(context, block_, messages_, type_.name);
    cells_->set(0, Part::kAll);
  }

  void connect(const CaseContext& context) {
    if (context.axis(kStaging) != kNoStaging) return connect_staged(context);
    if (pack_ == kByMpi) pack_by_mpi();  // it says how long messages are
    std::vector<MessageEnds> ends;
    for (std::size_t i = 0; i < messages_.size(); ++i) ends.push_back(ends_of(i));
    transfer_ = make_halo_transfer(context.axis("exchange"), comm(), messages_, ends);
  }

  MessageEnds ends_of(std::size_t i) {
    if (pack_ == kDirect)
      return {{cells_->data(), 1, out_types_[i].get()}, {cells_->data(), 1, in_types_[i].get()}};
    char* const out = packed_->out[i].slot(0);
    char* const in = packed_->in[i].slot(0);
    if (pack_ == kByMpi)
      return {{out, packed_bytes_[i], MPI_PACKED}, {in, packed_bytes_[i], MPI_PACKED}};
    const int bytes = static_cast<int>(static_cast<std::size_t>(messages_[i].cells) * type_.bytes);
    return {{out, bytes, MPI_BYTE}, {in, bytes, MPI_BYTE}};
  }

  // Links are in the order of the lower rank's messages at both ends.
  void connect_staged(const CaseContext& context) {
    const int rank = group_.rank();
    std::vector<std::pair<std::size_t, Link>> ordered;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const HaloMessage& message = messages_[i];
      SlotBuffer& in = packed_->in[message.peer == rank ? message.other : i];
      ordered.push_back(
          {message.peer < rank ? message.other : i, Link{message.peer, &packed_->out[i], &in}});
    }
    std::sort(ordered.begin(), ordered.end(),
              [](const auto& link, const auto& other) { return link.first < other.first; });
    std::vector<Link> links;
    for (const auto& [_, link] : ordered) links.push_back(link);
    staged_ = std::make_unique<Exchange>(context, links);
  }

  void iterate() {
    phases_.start();
    pack();
    phases_.lap(kPack);
    if (staged_) {
      staged_->begin();
      staged_->finish();
    } else {
      transfer_->run();
    }
    phases_.lap(kCommunicate);
    unpack();
    phases_.lap(kUnpack);
  }

  void pack() {
    if (pack_ == kByMpi) return pack_by_mpi();
    if (packs()) cells_->pack(*packed_, pack_ == kFused);
  }
  void unpack() {
    if (pack_ == kByMpi) return unpack_by_mpi();
    if (packs()) cells_->unpack(*packed_, pack_ == kFused);
  }

  void pack_by_mpi() {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      SlotBuffer& out = packed_->out[i];
      packed_bytes_[i] = 0;
      MPI_Pack(cells_->data(), 1, out_types_[i].get(), out.slot(0),
               static_cast<int>(out.layout().bytes), &packed_bytes_[i], comm());
    }
  }
  void unpack_by_mpi() {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      int place = 0;
      MPI_Unpack(packed_->in[i].slot(0), packed_bytes_[i], &place, cells_->data(), 1,
                 in_types_[i].get(), comm());
    }
  }

  MPI_Comm comm() const { return comm_of(group_); }

  static Payload payload(int sender, std::size_t message, std::uint64_t round) {
    return {payload_seed(sender, message), round};
  }

  std::optional<Mismatch> wrong_message(std::uint64_t round, Part part) const {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const Payload sent = payload(messages_[i].peer, messages_[i].other, round);
      if (auto wrong = packed_->in[i].find_mismatch(sent, part)) {
        wrong->slot = i;
        wrong->whole = packed_->in[i].layout().bytes;
        return wrong;
      }
    }
    return std::nullopt;
  }

  double expected(std::int64_t number, std::uint64_t round) const {
    const Triple padded = block_.padded();
    const Triple cell{number / padded[2] / padded[1] % padded[0] - block_.halo[0],
                      number / padded[2] % padded[1] - block_.halo[1],
                      number % padded[2] - block_.halo[2]};
    return block_.expected(cell, number / block_.cells_of_field(), round);
  }
  Group& group_;
  const NumberType& type_;
  const HaloBlock block_;
  const std::vector<HaloMessage> messages_;
  const std::string pack_;
  double sent_bytes_ = 0;
  std::vector<BoxType> out_types_;  // of each message, where MPI is given cells
  std::vector<BoxType> in_types_;
  std::vector<int> packed_bytes_;  // by MPI
  std::optional<PackedHalo> packed_;
  std::unique_ptr<HaloCells> cells_;
  std::unique_ptr<HaloTransfer> transfer_;
  std::unique_ptr<Exchange> staged_;
  Phases phases_;
  const std::size_t round_bytes_;
};

using Sizes = std::vector<std::size_t>;

Benchmark halo(bool plane) {
  const std::string name = plane ? "halo2d" : "halo3d";
  const std::string domain = plane ? "plane" : "volume";
  std::vector<Axis> axes{
      {"radius", {"1", "2", "3"}, "cells of the halo on each side of the block"},
      {"fields", {"1", "3", "8"}, "numbers of each cell; each number has its own array"},
      {"neighbours",
       plane ? std::vector<std::string>{"4", "8"} : std::vector<std::string>{"6", "26"},
       plane ? "4: across edges; 8: across corners too"
             : "6: across faces; 26: across edges and corners too"},
      {"pack",
       {"kernel", kFused, kDirect, kByMpi, kMock},
       "what gathers cells into messages; kernel: a kernel (on the host, a loop) for each message; "
       "fused: one kernel for all messages; direct: MPI, which gets datatypes; mpi: MPI_Pack and "
       "MPI_Unpack; mock: nothing, only messages of the same bytes are sent"},
      {"exchange",
       {kIsend, "persistent", "neighbor"},
       "isend: MPI_Irecv, MPI_Isend and MPI_Waitall; persistent: persistent requests; neighbor: "
       "MPI_Neighbor_alltoallw"},
      {"messages",
       {"aggregated", "each"},
       "aggregated: one message to each neighbour; each: one message for each field"},
      {"type", {"double", "float"}, "the type of the cells"}};
  if (!plane)
    axes.push_back({"block",
                    {"cube", "flat"},
                    "a rank's cells; cube: as many along each side; flat: along two sides only 3/4 "
                    "and 1/2 of them"});
  return {.info = {.name = name,
                   .summary = "time of a halo exchange of a periodic " + domain +
                              ", of which each rank has a block; the rate counts the bytes that a "
                              "rank sends",
                   .metrics = {{name, "us", "lower"}, {name + "_rate", "GB/s", "higher"}},
                   .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 1},
                   .smallest = 1,
                   .largest = plane ? std::size_t{65536} : std::size_t{2048},
                   .axes = std::move(axes),
                   .x = {.name = "side",
                         .unit = "cells",
                         .usual = plane ? Sizes{1024} : Sizes{64, 256}},
                   .budgeted = true,
                   .staged = true,
                   .reduce = Reduce::kMaximum},
          .make = [plane](const CaseContext& context) -> std::unique_ptr<Case> {
            return std::make_unique<Halo>(context, plane);
          }};
}

const Register entry({halo(true), halo(false)});

}  // namespace
}  // namespace nearpeak
