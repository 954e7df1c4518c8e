// SPDX-License-Identifier: Apache-2.0
#include "mpi/probe.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "mpi/agreement.hpp"
#include "mpi/benchmark.hpp"
#include "options/options.hpp"

namespace nearpeak {
namespace {

// Libraries treat small, middling and large messages differently.
constexpr std::size_t kSizes[] = {8, std::size_t{64} << 10, std::size_t{4} << 20};

// What an operation works on: afterwards `in` has what the peer had in `out`.
struct Ends {
  MPI_Comm comm;
  int rank;
  int peer;
  char* out;
  char* in;
  int bytes;
};

void send(const Ends& ends) {
  for (int sender = 0; sender < kProbeRanks; ++sender)
    if (ends.rank == sender)
      MPI_Send(ends.out, ends.bytes, MPI_BYTE, ends.peer, 0, ends.comm);
    else
      MPI_Recv(ends.in, ends.bytes, MPI_BYTE, ends.peer, 0, ends.comm, MPI_STATUS_IGNORE);
}

void isend(const Ends& ends) {
  MPI_Request requests[2];
  MPI_Irecv(ends.in, ends.bytes, MPI_BYTE, ends.peer, 0, ends.comm, &requests[0]);
  MPI_Isend(ends.out, ends.bytes, MPI_BYTE, ends.peer, 0, ends.comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

void sendrecv(const Ends& ends) {
  MPI_Sendrecv(ends.out, ends.bytes, MPI_BYTE, ends.peer, 0, ends.in, ends.bytes, MPI_BYTE,
               ends.peer, 0, ends.comm, MPI_STATUS_IGNORE);
}

void bcast(const Ends& ends) {
  for (int root = 0; root < kProbeRanks; ++root)
    MPI_Bcast(ends.rank == root ? ends.out : ends.in, ends.bytes, MPI_BYTE, root, ends.comm);
}

void allreduce(const Ends& ends) {
  MPI_Allreduce(ends.out, ends.in, ends.bytes / static_cast<int>(sizeof(unsigned)), MPI_UNSIGNED,
                MPI_SUM, ends.comm);
}

// Between two fences, each rank opening `data` to the other.
template <class Access>
void in_window(const Ends& ends, char* data, Access access) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(data, ends.bytes, 1, MPI_INFO_NULL, ends.comm, &window);
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

struct Operation {
  ProbeOperationInfo info;
  void (*run)(const Ends&);
  bool sums = false;  // `in` has the sum of both `out`, as unsigned ints
};

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all{
      {{"send", "MPI_Send and MPI_Recv"}, send},
      {{"isend", "MPI_Isend, MPI_Irecv and MPI_Waitall"}, isend},
      {{"sendrecv", "MPI_Sendrecv"}, sendrecv},
      {{"bcast", "MPI_Bcast"}, bcast},
      {{"allreduce", "MPI_Allreduce: a sum of unsigned ints"}, allreduce, true},
      {{"put", "MPI_Put between two fences"}, put},
      {{"get", "MPI_Get between two fences"}, get}};
  return all;
}

const Operation& find_operation(const std::string& name) {
  std::string known;
  for (const Operation& operation : operations()) {
    if (operation.info.name == name) return operation;
    known += (known.empty() ? "" : ", ") + operation.info.name;
  }
  throw BadInput("unknown operation '" + name + "' in --operations: give some of " + known);
}

std::uint64_t seed_of(int sender, std::size_t bytes) {
  return (static_cast<std::uint64_t>(sender + 1) << 48) ^ bytes;
}

// How one operation on one kind of buffers ended.
struct Outcome {
  std::string status;
  std::string message;
};

// One rank's part in trying one operation with one size.
class Attempt {
 public:
  // Throws std::bad_alloc and AcceleratorError.
  Attempt(const DeviceChoice& devices, BufferKind kind, MPI_Comm comm, std::size_t bytes)
      : device_(on_device(kind) ? devices.device() : nullptr),
        rank_(rank_in(comm)),
        comm_(comm),
        bytes_(bytes),
        out_(devices.memory(kind), bytes, 1),
        in_(devices.memory(kind), bytes, 1) {
    out_.fill_pattern(seed_of(rank_, bytes_));
    in_.fill_inverse(seed_of(peer(), bytes_));
  }

  std::optional<Mismatch> run(const Operation& operation) {
    operation.run({comm_, rank_, peer(), out_.slot(0), in_.slot(0), static_cast<int>(bytes_)});
    return operation.sums ? wrong_sum() : in_.find_mismatch(seed_of(peer(), bytes_));
  }

 private:
  int peer() const { return 1 - rank_; }

  std::optional<Mismatch> wrong_sum() const {
    const std::size_t count = bytes_ / sizeof(unsigned);
    std::vector<unsigned> expected(count);
    std::vector<unsigned> other(count);
    std::vector<unsigned> got(count);
    fill_pattern(expected.data(), bytes_, seed_of(0, bytes_));
    fill_pattern(other.data(), bytes_, seed_of(1, bytes_));
    for (std::size_t i = 0; i < count; ++i) expected[i] += other[i];
    if (device_ != nullptr)
      device_->copy(got.data(), in_.slot(0), bytes_);
    else
      std::memcpy(got.data(), in_.slot(0), bytes_);
    const auto* const want = reinterpret_cast<const unsigned char*>(expected.data());
    const auto* const have = reinterpret_cast<const unsigned char*>(got.data());
    const auto place = std::mismatch(want, want + bytes_, have);
    if (place.first == want + bytes_) return std::nullopt;
    return Mismatch{static_cast<std::size_t>(place.first - want), *place.first, *place.second};
  }

  Device* device_;  // null where the CPU owns the buffers
  int rank_;
  MPI_Comm comm_;
  std::size_t bytes_;
  SlotBuffer out_;
  SlotBuffer in_;
};

// The first rank's reason why there are no buffers.
std::optional<std::string> first_reason(const std::string& mine, MPI_Comm comm) {
  const auto all = gather(mine, comm);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].empty()) return "rank " + std::to_string(i) + ": " + all[i];
  return std::nullopt;
}

Outcome attempt(const Operation& operation, const DeviceChoice& devices, BufferKind kind,
                MPI_Comm comm) {
  for (const std::size_t bytes : kSizes) {
    std::unique_ptr<Attempt> made;
    std::string reason;
    try {
      made = std::make_unique<Attempt>(devices, kind, comm, bytes);
    } catch (const std::bad_alloc& error) {
      reason = error.what();
    } catch (const AcceleratorError& error) {
      reason = error.what();
    }
    if (const auto first = first_reason(reason, comm)) return {"not tried", *first};
    if (const auto wrong = first_wrong(made->run(operation), comm))
      return {"wrong data", to_text(*wrong, bytes)};
  }
  return {"ok", ""};
}

void print(const std::string& buffers, const std::string& operation, const Outcome& outcome) {
  std::printf("%-8s %-10s %s%s%s\n", buffers.c_str(), operation.c_str(), outcome.status.c_str(),
              outcome.message.empty() ? "" : ": ", outcome.message.c_str());
  std::fflush(stdout);
}

int probe(const ProbeRequest& request, const DeviceChoice& devices, MPI_Comm comm) {
  const bool leads = rank_in(comm) == kLeader;
  const auto places = gather_places(devices, comm);
  const auto writer = open_writer(request.jsonl, comm);
  const auto clock = measure_clock();
  if (leads) writer->environment("nearpeak-mpi", library_version(), places, clock);
  int status = kGood;
  for (std::size_t i = 0; i < request.kinds.size(); ++i)
    for (const std::string& name : request.operations) {
      const std::string& buffers = request.buffers[i];
      if (leads) writer->probe(buffers, name, "begun", "");
      MPI_Barrier(comm);  // nobody begins, and perhaps crashes, before that is written
      const BufferKind kind = request.kinds[i][rank_in(comm)];
      const Outcome outcome = attempt(find_operation(name), devices, kind, comm);
      if (leads) {
        writer->probe(buffers, name, outcome.status, outcome.message);
        print(buffers, name, outcome);
      }
      if (outcome.status == "wrong data") status = kWrongData;
      if (outcome.status == "not tried" && status == kGood) status = kFailed;
    }
  return status;
}

}  // namespace

std::vector<ProbeOperationInfo> probe_operations() {
  std::vector<ProbeOperationInfo> infos;
  for (const Operation& operation : operations()) infos.push_back(operation.info);
  return infos;
}

std::vector<std::string> parse_operations(const std::string& text) {
  std::vector<std::string> names;
  if (text.empty()) {
    for (const Operation& operation : operations()) names.push_back(operation.info.name);
    return names;
  }
  for (const std::string& name : split(text)) names.push_back(find_operation(name).info.name);
  return names;
}

int run(const ProbeRequest& request, const DeviceChoice& devices) {
  check_ranks("probe", kProbeRanks);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int status = probe(request, devices, comm);
  MPI_Comm_free(&comm);
  return status;
}

}  // namespace nearpeak
