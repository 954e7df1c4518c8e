// SPDX-License-Identifier: Apache-2.0
#include "datatype/datatype.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "benchmark/check_memory.hpp"
#include "benchmark/slots.hpp"
#include "mpi/methods.hpp"
#include "mpi/mpi_group.hpp"
#include "sampling/clock.hpp"

namespace nearpeak {
namespace {

constexpr const char* kPack = "pack";
constexpr const char* kDirect = "direct";
constexpr const char* kByMpi = "mpi";
constexpr const char* kByKernel = "kernel";
constexpr int kTag = 1;
constexpr std::size_t kMostSpread = std::size_t{256} << 20;  // bytes from the first to the last
// Of what is around the payload, at the sender and at the receiver: not the same, so that a gap
// that was sent is seen.
constexpr std::uint64_t kOutGaps = 1;
constexpr std::uint64_t kInGaps = 2;

// A datatype that is ready to be used.
class CommittedType {
 public:
  explicit CommittedType(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
  ~CommittedType() { MPI_Type_free(&type_); }
  CommittedType(const CommittedType&) = delete;
  CommittedType& operator=(const CommittedType&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

// Where MPI finds bytes of a buffer, or leaves them: there, or, as --staging asks, in host memory
// that they are copied to and from.
class Staged {
 public:
  Staged(const CaseContext& context, std::size_t bytes)
      : device_(staging_device(context)),
        bytes_(bytes),
        host_(memory_for_mpi(context), bytes, device_ == nullptr ? 0 : 1) {}

  template <class Byte>
  Byte* at(Byte* data) const {
    return device_ == nullptr ? data : host_.slot(0);
  }
  void copy_out(const char* data) {
    if (device_ != nullptr) device_->copy(host_.slot(0), data, bytes_);
  }
  void copy_in(char* data) {
    if (device_ != nullptr) device_->copy(data, host_.slot(0), bytes_);
  }
  // `write` puts blocks there; what lies between them stays as it was.
  template <class Write>
  void write_blocks(char* data, Write write) {
    copy_out(data);
    write(at(data));
    copy_in(data);
  }

 private:
  Device* const device_;
  const std::size_t bytes_;
  SlotBuffer host_;
};

// How a message comes out of a buffer to the peer, and from there into one.
class PackMethod {
 public:
  virtual ~PackMethod() = default;
  virtual bool packs() const { return true; }
  virtual void pack(const char* data) = 0;
  virtual void send(const char* data) = 0;
  virtual void receive(char* data) = 0;
  virtual void unpack(char* data) = 0;
};

class Direct final : public PackMethod {
 public:
  Direct(const CaseContext& context, int peer, MPI_Datatype type, std::size_t extent)
      : comm_(comm_of(context.group)),
        peer_(peer),
        type_(type),
        from_(context, extent),
        to_(context, extent) {}
  bool packs() const override { return false; }
  void pack(const char*) override {}
  void send(const char* data) override {
    from_.copy_out(data);
    MPI_Send(from_.at(data), 1, type_, peer_, kTag, comm_);
  }
  void receive(char* data) override {
    to_.write_blocks(
        data, [&](char* at) { MPI_Recv(at, 1, type_, peer_, kTag, comm_, MPI_STATUS_IGNORE); });
  }
  void unpack(char*) override {}

 private:
  MPI_Comm comm_;
  int peer_;
  MPI_Datatype type_;
  Staged from_;
  Staged to_;
};

class ByMpi final : public PackMethod {
 public:
  ByMpi(const CaseContext& context, int peer, MPI_Datatype type, std::size_t extent)
      : comm_(comm_of(context.group)),
        peer_(peer),
        type_(type),
        most_(most_bytes(type, comm_)),
        from_(context, extent),
        to_(context, extent),
        out_(memory_for_mpi(context), static_cast<std::size_t>(most_), 1),
        in_(memory_for_mpi(context), static_cast<std::size_t>(most_), 1) {}

  void pack(const char* data) override {
    packed_ = 0;
    from_.copy_out(data);
    MPI_Pack(from_.at(data), 1, type_, out_.slot(0), most_, &packed_, comm_);
  }
  void send(const char*) override {
    MPI_Send(out_.slot(0), packed_, MPI_PACKED, peer_, kTag, comm_);
  }
  void receive(char*) override {
    MPI_Recv(in_.slot(0), most_, MPI_PACKED, peer_, kTag, comm_, MPI_STATUS_IGNORE);
  }
  void unpack(char* data) override {
    int place = 0;
    to_.write_blocks(
        data, [&](char* at) { MPI_Unpack(in_.slot(0), most_, &place, at, 1, type_, comm_); });
  }

 private:
  static int most_bytes(MPI_Datatype type, MPI_Comm comm) {
    int bytes = 0;
    MPI_Pack_size(1, type, comm, &bytes);
    return bytes;
  }

  MPI_Comm comm_;
  int peer_;
  MPI_Datatype type_;
  const int most_;
  int packed_ = 0;
  Staged from_;
  Staged to_;
  SlotBuffer out_;
  SlotBuffer in_;
};

class ByKernel final : public PackMethod {
 public:
  ByKernel(const CaseContext& context, int peer, const std::vector<Piece>& pieces)
      : comm_(comm_of(context.group)),
        peer_(peer),
        bytes_(static_cast<int>(bytes_of(pieces))),
        packer_(make_packer(context, pieces)),
        out_(context.memory, bytes_of(pieces), 1),
        in_(context.memory, bytes_of(pieces), 1),
        from_(context, bytes_of(pieces)),
        to_(context, bytes_of(pieces)) {}

  void pack(const char* data) override {
    packer_->pack(out_.slot(0), data);
    from_.copy_out(out_.slot(0));
  }
  void send(const char*) override {
    MPI_Send(from_.at(out_.slot(0)), bytes_, MPI_BYTE, peer_, kTag, comm_);
  }
  void receive(char*) override {
    MPI_Recv(to_.at(in_.slot(0)), bytes_, MPI_BYTE, peer_, kTag, comm_, MPI_STATUS_IGNORE);
  }
  void unpack(char* data) override {
    to_.copy_in(in_.slot(0));
    packer_->unpack(data, in_.slot(0));
  }

 private:
  MPI_Comm comm_;
  int peer_;
  const int bytes_;
  const std::unique_ptr<Packer> packer_;
  SlotBuffer out_;
  SlotBuffer in_;
  Staged from_;
  Staged to_;
};

// What a buffer holds from its first byte to its last: gaps that never change, and between them the
// payload of a rank in a round.
std::vector<unsigned char> image(const std::vector<Piece>& pieces, std::uint64_t gaps,
                                 const Payload& payload) {
  std::vector<unsigned char> all(SlotBuffer::stride(extent_of(pieces)));
  poison(all.data(), {.bytes = 0, .stride = all.size(), .count = 1}, gaps);
  const std::size_t bytes = bytes_of(pieces);
  std::vector<unsigned char> whole(bytes);
  fill(whole.data(), {.bytes = bytes, .stride = bytes, .count = 1}, payload);
  const unsigned char* from = whole.data();
  for (const Piece& piece : pieces) {
    std::memcpy(&all[piece.offset], from, piece.bytes);
    from += piece.bytes;
  }
  return all;
}

// Slots of the whole extent: the buffer's, as --reuse asks, if they fit into the host's memory.
std::size_t slots_of(const CaseContext& context, std::size_t extent) {
  const std::size_t slots = context.group.largest(slots_for_one(context, extent));
  constexpr std::size_t kImages = 2;  // while what has arrived is looked at
  const std::size_t staged = staging_device(context) != nullptr ? 2 : 0;
  const std::size_t stride = SlotBuffer::stride(extent);
  check_memory(context, {.all = 2 * slots * stride, .scratch = (kImages + staged) * stride});
  return slots;
}

// Throws Unfit, the same on all ranks.
const Shape& checked(const Shape& shape) {
  int size = 0;
  MPI_Type_size(shape.type, &size);
  const std::size_t bytes = bytes_of(shape.pieces);
  if (static_cast<std::size_t>(size) != bytes)
    throw Unfit("the datatype has " + std::to_string(size) + " bytes, and its blocks " +
                std::to_string(bytes));
  if (extent_of(shape.pieces) > kMostSpread)
    throw Unfit("its blocks are spread over more than " + bytes_text(kMostSpread) +
                ": choose smaller sizes");
  return shape;
}

class DatatypeCase final : public Case {
 public:
  // Collective; throws Unfit on all ranks.
  DatatypeCase(const CaseContext& context, const Shape& shape)
      : context_(context),
        peer_(1 - context.group.rank()),
        type_(shape.type),
        pieces_(checked(shape).pieces),
        extent_(extent_of(pieces_)),
        slots_(slots_of(context, extent_)),
        writes_(context.axis(kTouch) == "sender"),
        out_(context.memory, extent_, slots_, context.offset),
        in_(context.memory, extent_, slots_, context.offset),
        pack_(pack_method()),
        phases_(pack_->packs() ? Phases({"pack", "communicate", "unpack"}) : Phases()) {}

  std::vector<double> values(const Times& times) const override { return {times.us / 2}; }
  std::uint64_t cycle() const override { return slots_; }
  std::size_t round_bytes() const override { return extent_; }
  const Phases& phases() const override { return phases_; }

  void begin_round(std::uint64_t round, Part) override {
    next_ = 0;
    used_ = 0;
    const std::size_t count = round == 0 ? slots_ : 1;
    in_.poison(kInGaps, 0, count);
    const auto data = image(pieces_, kOutGaps, {seed_of(context_.group.rank()), round});
    for (std::size_t slot = 0; slot < count; ++slot)
      out_.memory().from_host(out_.slot(slot), data.data(), data.size());
  }

  std::optional<Mismatch> wrong(std::uint64_t round, Part) const override {
    const std::size_t most = most_looked_at(in_.layout().stride);
    for (std::size_t slot = 0; slot < std::min(used_, most); ++slot)
      if (auto bad = wrong_in(slot, round)) return bad;
    return std::nullopt;
  }

  // The parts of the last iteration stand for all of them, so that the clock is hardly read.
  void run(std::uint64_t n) override {
    for (std::uint64_t i = 0; i + 1 < n; ++i) round_trip([](int) {});
    std::array<std::int64_t, 4> moments{};
    round_trip([&](int which) { moments[which] = now_ns(); });
    phases_.clear();
    for (std::size_t i = 0; i < phases_.count(); ++i)
      phases_.add(i, static_cast<double>(n) * static_cast<double>(moments[i + 1] - moments[i]));
  }

 private:
  template <class Tell>
  void round_trip(Tell tell) {
    PackMethod& by = *pack_;
    char* const in = in_.slot(next_);
    if (context_.group.leads()) {
      const char* const out = outgoing();
      tell(0);
      by.pack(out);
      tell(1);
      by.send(out);
      by.receive(in);
      tell(2);
      by.unpack(in);
      tell(3);
    } else {
      by.receive(in);
      by.unpack(in);
      const char* const out = outgoing();
      by.pack(out);
      by.send(out);
    }
    used_ = std::max(used_, ++next_);
    if (next_ == slots_) next_ = 0;
  }
  std::optional<Mismatch> wrong_in(std::size_t slot, std::uint64_t round) const {
    const auto expected = image(pieces_, kInGaps + slot_seed(slot), {seed_of(peer_), round});
    std::vector<unsigned char> got(expected.size());
    in_.memory().to_host(got.data(), in_.slot(slot), got.size());
    const auto [here, there] = std::mismatch(got.begin(), got.end(), expected.begin());
    if (here == got.end()) return std::nullopt;
    const auto byte = static_cast<std::size_t>(here - got.begin());
    const bool within = std::any_of(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
      return byte >= piece.offset && byte < piece.offset + piece.bytes;
    });
    return Mismatch{.slot = slot,
                    .byte = byte,
                    .expected = *there,
                    .got = *here,
                    .whole = extent_,
                    .between = !within};
  }
  const char* outgoing() const {
    char* const out = out_.slot(next_);
    if (writes_)
      for (const Piece& piece : pieces_) write_lines(out + piece.offset, piece.bytes);
    return out;
  }
  std::uint64_t seed_of(int sender) const { return payload_seed(sender, bytes_of(pieces_)); }

  std::unique_ptr<PackMethod> pack_method() const {
    const std::string& way = context_.axis(kPack);
    if (way == kByMpi) return std::make_unique<ByMpi>(context_, peer_, type_.get(), extent_);
    if (way == kByKernel) return std::make_unique<ByKernel>(context_, peer_, pieces_);
    return std::make_unique<Direct>(context_, peer_, type_.get(), extent_);
  }

  const CaseContext context_;
  const int peer_;
  const CommittedType type_;
  const std::vector<Piece> pieces_;
  const std::size_t extent_;
  const std::size_t slots_;
  const bool writes_;
  SlotBuffer out_;
  SlotBuffer in_;
  const std::unique_ptr<PackMethod> pack_;
  Phases phases_;
  std::size_t next_ = 0;
  std::size_t used_ = 0;  // slots, since the round began
};

}  // namespace

int side_of(int cells) {
  int side = 1;
  while (side * side < cells) side *= 2;
  return side;
}

std::vector<Piece> even_pieces(int count, std::size_t bytes, std::size_t stride) {
  std::vector<Piece> pieces;
  for (int i = 0; i < count; ++i) pieces.push_back({static_cast<std::size_t>(i) * stride, bytes});
  return pieces;
}

int irregular(int i, int below) {
  const std::uint32_t mixed = static_cast<std::uint32_t>(i) * 2654435761U;  // Knuth, section 6.4
  return static_cast<int>((mixed >> 16) % static_cast<std::uint32_t>(below));
}

std::vector<int> irregular_places(int count) {
  constexpr int kFarthest = 5;
  std::vector<int> places{0};
  while (static_cast<int>(places.size()) < count)
    places.push_back(places.back() + 1 + irregular(places.back(), kFarthest));
  return places;
}

Benchmark datatype(BenchmarkInfo info, std::function<Shape(const CaseContext&)> make,
                   std::vector<Axis> axes) {
  info.metrics = {{info.name, "us", "lower"}};
  info.smallest = std::max<std::size_t>(1, info.smallest);
  info.largest = std::size_t{1} << 20;
  info.moves = {.ways = 2};
  info.bound_by = "latency";
  info.budgeted = true;
  info.axes = {
      {kPack,
       {kDirect, kByMpi, kByKernel},
       "who gathers the blocks: MPI, which is given the datatype; MPI_Pack and MPI_Unpack; "
       "a kernel of ours on the device, on the host a loop"}};
  for (Axis& axis : axes) info.axes.push_back(std::move(axis));
  info.axes.push_back(
      {kStaging,
       {kNoStaging, "pageable", "pinned"},
       "none: MPI is given device buffers; pageable, pinned: what lies from the first block to the "
       "last, or what a kernel has packed, is copied to and from such host memory"});
  return {.info = std::move(info),
          .make = [make = std::move(make)](const CaseContext& context) -> std::unique_ptr<Case> {
            return std::make_unique<DatatypeCase>(context, make(context));
          }};
}

}  // namespace nearpeak
