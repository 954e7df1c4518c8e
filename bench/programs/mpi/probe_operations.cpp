// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/probe_operations.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "benchmark/check_memory.hpp"
#include "mpi/errors.hpp"
#include "mpi/mpi_group.hpp"

namespace nearpeak {
namespace {

// What an operation works on: afterwards `in` has what the peer had in `out`.
struct Ends {
  MPI_Comm comm;
  int peer;
  char* out;
  char* in;
  int bytes;
};

// Between two fences, each rank opening `data` to the other.
template <class Access>
void in_window(const Ends& ends, char* data, Access access) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(data, ends.bytes, 1, MPI_INFO_NULL, ends.comm, &window);
  watch_errors(window);
  MPI_Win_fence(0, window);
  access(window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

void put(const Ends& ends) {
  in_window(ends, ends.in, [&](MPI_Win window) {
    MPI_Put(ends.out, ends.bytes, MPI_BYTE, ends.peer, 0, ends.bytes, MPI_BYTE, window);
  });
}

void get(const Ends& ends) {
  in_window(ends, ends.out, [&](MPI_Win window) {
    MPI_Get(ends.in, ends.bytes, MPI_BYTE, ends.peer, 0, ends.bytes, MPI_BYTE, window);
  });
}

constexpr int kPieces = 1000;

// The last piece is sent first: each goes to the receive of its tag, not to the next one.
void requests(const Ends& ends) {
  const auto begin = [&](int piece) {
    return static_cast<int>(std::int64_t{ends.bytes} * piece / kPieces);
  };
  std::vector<MPI_Request> all(std::size_t{2} * kPieces, MPI_REQUEST_NULL);
  const auto each = [&](int piece, auto call, auto* data, MPI_Request& request) {
    call(data + begin(piece), begin(piece + 1) - begin(piece), MPI_BYTE, ends.peer, piece,
         ends.comm, &request);
  };
  for (int piece = 0; piece < kPieces; ++piece) each(piece, MPI_Irecv, ends.in, all[piece]);
  for (int piece = kPieces - 1; piece >= 0; --piece)
    each(piece, MPI_Isend, ends.out, all[kPieces + piece]);
  MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
}

// A message to the peer and one from it, in memory of their own or in the context's.
class OperationCase : public Case {
 public:
  explicit OperationCase(const CaseContext& context, std::unique_ptr<Memory> own = nullptr)
      : context_(context),
        own_(std::move(own)),
        out_(memory(), context.bytes, 1, context.offset),
        in_(memory(), context.bytes, 1, context.offset) {
    out_.fill({payload_seed(context.group.rank(), context.bytes)});
  }

  void run(std::uint64_t) override {
    operate({.comm = comm_of(context_.group),
             .peer = peer(),
             .out = out_.slot(0),
             .in = in_.slot(0),
             .bytes = static_cast<int>(context_.bytes)});
  }
  std::vector<double> values(const Times& times) const override { return {times.us}; }
  std::size_t round_bytes() const override { return context_.bytes; }
  void begin_round(std::uint64_t round, Part part) override {
    out_.fill({payload_seed(context_.group.rank(), context_.bytes), round}, Part::kStamps);
    if (part == Part::kAll) in_.poison(payload_seed(peer(), context_.bytes));
  }
  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override {
    return in_.find_mismatch({payload_seed(peer(), context_.bytes), round}, part);
  }

 protected:
  virtual void operate(const Ends& ends) = 0;
  Memory& memory() const { return own_ ? *own_ : context_.memory; }

 private:
  int peer() const { return 1 - context_.group.rank(); }

  const CaseContext context_;
  const std::unique_ptr<Memory> own_;
  SlotBuffer out_;
  SlotBuffer in_;
};

class FunctionCase final : public OperationCase {
 public:
  FunctionCase(const CaseContext& context, void (*operation)(const Ends&))
      : OperationCase(context), operation_(operation) {}

 private:
  void operate(const Ends& ends) override { operation_(ends); }

  void (*operation_)(const Ends&);
};

// One allocation of another memory, handed out in pieces that begin on pages of it.
class OneAllocation final : public ForwardingMemory {
 public:
  static std::size_t whole(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

  OneAllocation(Memory& memory, std::size_t bytes)
      : ForwardingMemory(memory),
        begin_(static_cast<char*>(memory.allocate(bytes))),
        next_(begin_) {}
  ~OneAllocation() override { memory_.release(begin_); }
  OneAllocation(const OneAllocation&) = delete;
  OneAllocation& operator=(const OneAllocation&) = delete;

  void* allocate(std::size_t bytes) override { return std::exchange(next_, next_ + whole(bytes)); }
  void release(void*) override {}

 private:
  static constexpr std::size_t kPage = 4096;

  char* const begin_;
  char* next_;
};

// While the message is on its way, the device copies beside it: other bytes of its allocation, in a
// stream that MPI knows nothing of.
class BusyStreamCase final : public OperationCase {
 public:
  static std::size_t bytes(const CaseContext& context) {
    const std::size_t message =
        OneAllocation::whole(SlotBuffer::stride(context.bytes) + context.offset);
    return 2 * message + (copies(context) ? 2 * kCopied : 0);
  }
  static bool copies(const CaseContext& context) { return on_device(context.kind); }

  explicit BusyStreamCase(const CaseContext& context)
      : OperationCase(context, std::make_unique<OneAllocation>(context.memory, bytes(context))),
        device_(context.device) {
    if (!copies(context)) return;
    from_ = memory().allocate(kCopied);
    to_ = memory().allocate(kCopied);
    stream_ = device_->new_stream();
  }

 private:
  static constexpr std::size_t kCopied = std::size_t{2} << 20;
  static constexpr int kAtOnce = 16;  // a query of the stream takes as long as some copies

  void operate(const Ends& ends) override {
    MPI_Request both[2];
    keep_busy();
    MPI_Irecv(ends.in, ends.bytes, MPI_BYTE, ends.peer, 0, ends.comm, &both[0]);
    MPI_Isend(ends.out, ends.bytes, MPI_BYTE, ends.peer, 0, ends.comm, &both[1]);
    for (int done = 0; done == 0;) {
      keep_busy();
      MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE);
    }
    if (stream_) stream_->synchronize();
  }

  void keep_busy() {
    if (!stream_ || !stream_->finished()) return;
    for (int i = 0; i < kAtOnce; ++i) device_->copy_async(to_, from_, kCopied, *stream_);
  }

  Device* const device_;
  void* from_ = nullptr;
  void* to_ = nullptr;
  std::unique_ptr<Stream> stream_;
};

Benchmark benchmark_of(BenchmarkInfo info,
                       std::function<std::unique_ptr<Case>(const CaseContext&)> make) {
  info.metrics = {{}};
  return {.info = std::move(info), .make = std::move(make)};
}

ProbeOperation function(BenchmarkInfo info, void (*operation)(const Ends&)) {
  return {benchmark_of(std::move(info), [operation](const CaseContext& context) {
    check_memory(context, {.all = 2 * SlotBuffer::stride(context.bytes)});
    return std::make_unique<FunctionCase>(context, operation);
  })};
}

ProbeOperation busy_stream() {
  const auto make = [](const CaseContext& context) {
    if (context.group.largest(BusyStreamCase::copies(context) ? 1 : 0) == 0)
      throw Unfit("no rank has its buffers on a device");
    check_memory(context, {.all = BusyStreamCase::bytes(context)});
    return std::make_unique<BusyStreamCase>(context);
  };
  return {benchmark_of({.name = "busy_stream",
                        .family = "stream",
                        .summary = "MPI_Isend and MPI_Irecv while another stream writes elsewhere "
                                   "in the same allocation"},
                       make),
          true};
}

}  // namespace

const std::vector<ProbeOperation>& probe_operations() {
  static const std::vector<ProbeOperation> all{
      function({.name = "put", .family = "rma", .summary = "MPI_Put between two fences"}, put),
      function({.name = "get", .family = "rma", .summary = "MPI_Get between two fences"}, get),
      function(
          {.name = "requests",
           .family = "pt2pt",
           .summary = "a message in 1000 pieces both ways: 1000 MPI_Isend and MPI_Irecv at once",
           .smallest = kPieces},
          requests),
      busy_stream()};
  return all;
}

}  // namespace nearpeak
