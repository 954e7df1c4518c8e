// SPDX-License-Identifier: Apache-2.0
// Collectives that do not wait, and persistent ones, of buffers on devices (application.hpp).

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "application.hpp"

namespace {

constexpr int kTag = 5;
constexpr std::size_t kBytes = 20000;

int length(std::size_t bytes) { return static_cast<int>(bytes); }

// Numbers, other ones in each rank and at each call; alike in all ranks where they are asked for.
class Numbers {
 public:
  explicit Numbers(unsigned seed) : state_(seed * 2654435761U + 12345U) {}
  unsigned below(unsigned n) {
    state_ = state_ * 1664525U + 1013904223U;
    return (state_ >> 8) % n;
  }

 private:
  unsigned state_;
};

// Ranks come at other times.
void dawdle(Numbers& numbers) {
  if (numbers.below(3) == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(numbers.below(300)));
}

// A collective, which is called or started, and what it must leave.
class One {
 public:
  // Of a kind, a root and a seed that are alike in all ranks; `where`: 'D' or 'H'.
  One(int kind, int root, int seed, char where, MPI_Comm comm, bool again)
      : kind_(kind),
        root_(root),
        seed_(seed),
        comm_(comm),
        ranks_(ranks_of(comm)),
        data_(where, room()),
        in_(where, room()) {
    fill();
    const int n = length(kBytes);
    void* const in = in_.data();
    MPI_Request* const made = &request;
    const MPI_Comm on = comm;
    if (again) {
      const MPI_Info info = MPI_INFO_NULL;
      if (kind == 0) MPI_Bcast_init(in, n, MPI_BYTE, root, on, info, made);
      if (kind == 1) MPI_Allgather_init(data_.data(), n, MPI_BYTE, in, n, MPI_BYTE, on, info, made);
      if (kind == 2)
        MPI_Gather_init(data_.data(), n, MPI_BYTE, in, n, MPI_BYTE, root, on, info, made);
      if (kind == 3) MPI_Alltoall_init(data_.data(), n, MPI_BYTE, in, n, MPI_BYTE, on, info, made);
      if (kind == 4) MPI_Allreduce_init(data_.data(), in, n, MPI_BYTE, MPI_BXOR, on, info, made);
      if (kind == 5) MPI_Allreduce_init(MPI_IN_PLACE, in, n, MPI_BYTE, MPI_BXOR, on, info, made);
      return;
    }
    if (kind == 0) MPI_Ibcast(in, n, MPI_BYTE, root, on, made);
    if (kind == 1) MPI_Iallgather(data_.data(), n, MPI_BYTE, in, n, MPI_BYTE, on, made);
    if (kind == 2) MPI_Igather(data_.data(), n, MPI_BYTE, in, n, MPI_BYTE, root, on, made);
    if (kind == 3) MPI_Ialltoall(data_.data(), n, MPI_BYTE, in, n, MPI_BYTE, on, made);
    if (kind == 4) MPI_Iallreduce(data_.data(), in, n, MPI_BYTE, MPI_BXOR, on, made);
    if (kind == 5) MPI_Iallreduce(MPI_IN_PLACE, in, n, MPI_BYTE, MPI_BXOR, on, made);
  }
  static constexpr int kKinds = 6;

  MPI_Request request = MPI_REQUEST_NULL;

  // A persistent one with new data.
  void start() {
    ++seed_;
    fill();
    MPI_Start(&request);
  }
  void check() {
    int own = 0;
    MPI_Comm_rank(comm_, &own);
    in_.read();
    const unsigned char* const got = in_.bytes().data();
    if (kind_ == 0) CHECK(has_pattern(got, 0, kBytes, seed_));
    for (int from = 0; from < ranks_ && (kind_ == 1 || kind_ == 3 || (kind_ == 2 && own == root_));
         ++from)
      CHECK(std::memcmp(got + static_cast<std::size_t>(from) * kBytes,
                        given(from, kind_ == 3 ? own : 0).data(), kBytes) == 0);
    if (kind_ < 4) return;
    std::vector<unsigned char> all(kBytes);
    for (int from = 0; from < ranks_; ++from) {
      const std::vector<unsigned char> one = given(from, 0);
      for (std::size_t i = 0; i < kBytes; ++i) all[i] ^= one[i];
    }
    CHECK(std::memcmp(got, all.data(), kBytes) == 0);
  }

 private:
  std::size_t room() const { return kBytes * static_cast<std::size_t>(ranks_); }
  static int ranks_of(MPI_Comm comm) {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    return ranks;
  }
  // What a rank gives to another one.
  std::vector<unsigned char> given(int from, int to) const {
    std::vector<unsigned char> all(kBytes);
    put_pattern(all.data(), kBytes, seed_ + 10 * from + 100 * to);
    return all;
  }
  void fill() {
    int own = 0;
    MPI_Comm_rank(comm_, &own);
    for (int to = 0; to < ranks_; ++to) {
      const std::vector<unsigned char> one = given(own, kind_ == 3 ? to : 0);
      std::memcpy(data_.bytes().data() + static_cast<std::size_t>(to) * kBytes, one.data(), kBytes);
    }
    data_.write();
    in_.fill(kind_ == 0 && own == root_ ? seed_ : -1);
    if (kind_ != 5) return;
    std::memcpy(in_.bytes().data(), given(own, 0).data(), kBytes);
    in_.write();
  }

  int kind_, root_, seed_;
  MPI_Comm comm_;
  int ranks_;
  Buffer data_, in_;
};

using Several = std::vector<std::unique_ptr<One>>;

// Waits for all of them, in some way and some order. MPI_Testall of MPICH 5.0.2 says of its own
// persistent ones that they failed.
void complete(Several& all, Numbers& numbers, bool again = false) {
  std::vector<MPI_Request> requests;
  for (const auto& one : all) requests.push_back(one->request);
  const int n = static_cast<int>(requests.size());
  std::vector<int> which(requests.size());
  int left = n, flag = 0, done = 0, one = 0;
  const unsigned way = numbers.below(8);
  switch (again && way == 3 ? 0 : way) {
    case 0:
      MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE);
      break;
    case 1:
      for (; left > 0; --left) {
        MPI_Status status;
        MPI_Waitany(n, requests.data(), &one, &status);
        CHECK(one != MPI_UNDEFINED);
        all[static_cast<std::size_t>(one)]->check();
      }
      break;
    case 2:
      while (left > 0) {
        MPI_Waitsome(n, requests.data(), &done, which.data(), MPI_STATUSES_IGNORE);
        CHECK(done > 0);
        left -= done;
      }
      break;
    case 3:
      while (flag == 0) MPI_Testall(n, requests.data(), &flag, MPI_STATUSES_IGNORE);
      break;
    case 4:
      while (left > 0) {
        MPI_Testany(n, requests.data(), &one, &flag, MPI_STATUS_IGNORE);
        if (flag == 0) continue;
        CHECK(one != MPI_UNDEFINED);
        --left;
      }
      break;
    case 5:
      while (left > 0) {
        MPI_Testsome(n, requests.data(), &done, which.data(), MPI_STATUSES_IGNORE);
        CHECK(done != MPI_UNDEFINED);
        left -= done;
      }
      break;
    case 6:
      while (left > 0) {
        one = static_cast<int>(numbers.below(static_cast<unsigned>(n)));
        MPI_Request& request = requests[static_cast<std::size_t>(one)];
        if (which[static_cast<std::size_t>(one)] != 0) continue;
        which[static_cast<std::size_t>(one)] = 1;
        for (flag = 0; flag == 0;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        all[static_cast<std::size_t>(one)]->check();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        --left;
      }
      break;
    default:
      for (std::size_t i = requests.size(); i-- > 0;) {
        for (flag = 0; flag == 0;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]->check();
    all[i]->request = requests[i];
  }
}

std::vector<MPI_Comm> some_comms() {
  std::vector<MPI_Comm> comms(3, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
  return comms;
}
void free_comms(std::vector<MPI_Comm>& comms) {
  for (std::size_t i = 1; i < comms.size(); ++i) MPI_Comm_free(&comms[i]);
}

// Several at a time, in several communicators, each rank's completed in an order of its own.
void outstanding() {
  Numbers alike(1), own(static_cast<unsigned>(rank) + 7);
  std::vector<MPI_Comm> comms = some_comms();
  for (int round = 0; round < 60; ++round) {
    Several all;
    const unsigned n = 1 + alike.below(8);
    for (unsigned i = 0; i < n; ++i) {
      dawdle(own);
      const int kind = static_cast<int>(alike.below(One::kKinds));
      const int root = static_cast<int>(alike.below(static_cast<unsigned>(size)));
      const MPI_Comm comm = comms[alike.below(3)];
      all.push_back(
          std::make_unique<One>(kind, root, static_cast<int>(alike.below(200)), 'D', comm, false));
    }
    complete(all, own);
    for (const auto& one : all) CHECK(one->request == MPI_REQUEST_NULL);
  }
  free_comms(comms);
}

// More at a time than have room.
void many() {
  Numbers own(static_cast<unsigned>(rank) + 70);
  for (int round = 0; round < 3; ++round) {
    Several all;
    for (int i = 0; i < 50; ++i)
      all.push_back(
          std::make_unique<One>(i % One::kKinds, i % size, i, 'D', MPI_COMM_WORLD, false));
    complete(all, own);
  }
}

// Beside calls of the MPI library, which has all of a communicator in one order.
void beside() {
  Numbers alike(3), own(static_cast<unsigned>(rank) + 20);
  std::vector<MPI_Comm> comms = some_comms();
  Buffer buffer('D', kBytes), result('D', kBytes * static_cast<std::size_t>(size));
  for (int round = 0; round < 60; ++round) {
    Several all;
    std::vector<MPI_Request> others(6, MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < others.size(); ++i) {
      dawdle(own);
      const MPI_Comm comm = comms[alike.below(3)];
      MPI_Comm made;
      int in = 0, one = 1;
      switch (alike.below(9)) {
        case 0:
          MPI_Barrier(comm);
          break;
        case 1:
          MPI_Ibarrier(comm, &others[i]);
          break;
        case 2:
          MPI_Allreduce(&one, &in, 1, MPI_INT, MPI_SUM, comm);
          CHECK(in == size);
          break;
        case 3:
          MPI_Iscan(buffer.data(), result.data(), 100, MPI_INT, MPI_SUM, comm, &others[i]);
          break;
        case 4:
          MPI_Comm_dup(comm, &made);
          MPI_Comm_free(&made);
          break;
        case 5:
          MPI_Comm_idup(comm, &made, &others[i]);
          MPI_Wait(&others[i], MPI_STATUS_IGNORE);
          MPI_Comm_free(&made);
          break;
        case 6:
          MPI_Allgather(buffer.data(), length(kBytes), MPI_BYTE, result.data(), length(kBytes),
                        MPI_BYTE, comm);
          break;
        default:
          break;
      }
      const int kind = static_cast<int>(alike.below(One::kKinds));
      const char where = alike.below(4) == 0 ? 'H' : 'D';
      all.push_back(std::make_unique<One>(kind, static_cast<int>(i) % size,
                                          static_cast<int>(alike.below(200)), where, comm, false));
    }
    complete(all, own);
    MPI_Waitall(static_cast<int>(others.size()), others.data(), MPI_STATUSES_IGNORE);
  }
  free_comms(comms);
}

// Ranks have their buffers on devices or not, each as it likes.
void apart() {
  Numbers alike(4), own(static_cast<unsigned>(rank) + 30);
  std::vector<MPI_Comm> comms = some_comms();
  for (int round = 0; round < 60; ++round) {
    Several all;
    for (unsigned n = alike.below(6); n < 6; ++n) {
      dawdle(own);
      const int kind = static_cast<int>(alike.below(One::kKinds));
      const int root = static_cast<int>(alike.below(static_cast<unsigned>(size)));
      all.push_back(std::make_unique<One>(kind, root, static_cast<int>(alike.below(200)),
                                          own.below(6) == 0 ? 'H' : 'D', comms[alike.below(3)],
                                          false));
    }
    complete(all, own);
  }
  free_comms(comms);
}

// Persistent ones, which each rank starts in an order of its own.
void again() {
  Numbers own(static_cast<unsigned>(rank) + 40);
  std::vector<MPI_Comm> comms = some_comms();
  Several all;
  for (int i = 0; i < 8; ++i) {
    const char where = i == 6 && rank == 1 ? 'H' : i == 7 ? 'H' : 'D';
    all.push_back(std::make_unique<One>(i % One::kKinds, i % size, 10 * i, where,
                                        comms[static_cast<std::size_t>(i) % 3], true));
  }
  for (int round = 0; round < 60; ++round) {
    for (std::size_t i = all.size(); i > 1; --i)
      std::swap(all[i - 1], all[own.below(static_cast<unsigned>(i))]);
    for (const auto& one : all) {
      dawdle(own);
      one->start();
    }
    complete(all, own, true);
  }
  for (const auto& one : all) {
    CHECK(one->request != MPI_REQUEST_NULL);
    MPI_Wait(&one->request, MPI_STATUS_IGNORE);  // not started
    MPI_Request_free(&one->request);
    CHECK(one->request == MPI_REQUEST_NULL);
  }
  // One rank waits for the first before it starts the second, and another one starts that first.
  One first(4, 0, 1, 'D', MPI_COMM_WORLD, true), second(1, 0, 2, 'D', MPI_COMM_WORLD, true);
  for (int round = 0; round < 10; ++round) {
    One* const before = rank == 0 ? &first : &second;
    One* const behind = rank == 0 ? &second : &first;
    before->start();
    if (rank != 0) MPI_Wait(&before->request, MPI_STATUS_IGNORE);
    behind->start();
    MPI_Request both[] = {before->request, behind->request};
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    first.check();
    second.check();
  }
  MPI_Request both[] = {first.request, second.request};
  for (int round = 0; round < 3; ++round) {
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  for (MPI_Request& request : both) MPI_Request_free(&request);
  free_comms(comms);
}

// What a rank waits for comes only when another one's collective is complete, or has begun.
void crossed() {
  if (size < 2) return;
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, 0, &pair);
  for (int round = 0; round < 30; ++round) {
    for (const char kind : {'H', 'D'})
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{300000}}) {
        Buffer message(kind, bytes);
        const int n = length(bytes);
        for (const int first : {0, 1}) {
          // One waits before it sends, the other one receives before it waits.
          One one(1 + round % 5, 0, round, 'D', MPI_COMM_WORLD, false);
          if (rank == first)
            MPI_Recv(message.data(), n, MPI_BYTE, 1 - first, kTag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
          MPI_Wait(&one.request, MPI_STATUS_IGNORE);
          one.check();
          if (rank == 1 - first) MPI_Send(message.data(), n, MPI_BYTE, first, kTag, MPI_COMM_WORLD);
          // One sends before it waits, the other one receives only then.
          One two(1 + round % 5, 0, round, 'D', MPI_COMM_WORLD, false);
          if (rank == first)
            MPI_Ssend(message.data(), n, MPI_BYTE, 1 - first, kTag, MPI_COMM_WORLD);
          MPI_Wait(&two.request, MPI_STATUS_IGNORE);
          if (rank == 1 - first)
            MPI_Recv(message.data(), n, MPI_BYTE, first, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          // One is called only when the other one has gone on.
          if (rank == first)
            MPI_Recv(message.data(), n, MPI_BYTE, 1 - first, kTag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
          One three(1 + round % 5, 0, round, 'D', MPI_COMM_WORLD, false);
          if (rank == 1 - first) MPI_Send(message.data(), n, MPI_BYTE, first, kTag, MPI_COMM_WORLD);
          MPI_Wait(&three.request, MPI_STATUS_IGNORE);
          three.check();
        }
      }
    // Together with messages.
    Buffer out('D', kBytes), in('D', kBytes);
    out.fill(round);
    One beside(round % One::kKinds, 0, round, 'D', MPI_COMM_WORLD, false);
    MPI_Request all[] = {MPI_REQUEST_NULL, beside.request, MPI_REQUEST_NULL};
    if (rank < 2) {
      MPI_Irecv(in.data(), length(kBytes), MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, &all[0]);
      MPI_Isend(out.data(), length(kBytes), MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, &all[2]);
    }
    MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
    beside.check();
    CHECK(in.has(rank < 2 ? round : -1, kBytes));
    // The same with collectives of another communicator, which the library waits in.
    One one(4, 0, round, 'D', MPI_COMM_WORLD, false);
    if (rank == 0) MPI_Barrier(pair);
    MPI_Wait(&one.request, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Barrier(pair);
    if (rank == 0) MPI_Barrier(pair);
    One two(4, 0, round, 'D', MPI_COMM_WORLD, false);
    if (rank == 1) MPI_Barrier(pair);
    MPI_Wait(&two.request, MPI_STATUS_IGNORE);
    one.check();
    two.check();
  }
  MPI_Comm_free(&pair);
}

void add(void* in, void* out, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<int*>(out)[i] += static_cast<int*>(in)[i];
}

// Open MPI 5.0.11 crashes where a communicator is freed before a collective of its own is complete.
#ifdef OPEN_MPI
constexpr bool kFreesComm = false;
#else
constexpr bool kFreesComm = true;
#endif

// What a call was given is freed before it is complete, or before it is the MPI library's.
void given_back() {
  Numbers own(static_cast<unsigned>(rank) + 60);
  constexpr int kN = 5000;
  for (int round = 0; round < 40; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Datatype type, gaps;
    MPI_Type_contiguous(10, MPI_INT, &type);
    MPI_Type_vector(kN / 10, 5, 10, MPI_INT, &gaps);
    MPI_Type_commit(&type);
    MPI_Type_commit(&gaps);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    Buffer whole(rank == round % (size + 2) ? 'H' : 'D', 4 * kN), apart('D', 4 * kN),
        out('H', 4 * kN), in('H', 4 * kN);
    whole.fill(rank == 0 ? 3 : -1);
    apart.fill(rank == 0 ? 4 : -1);
    for (int i = 0; i < kN; ++i) reinterpret_cast<int*>(out.bytes().data())[i] = i;
    out.write();
    MPI_Request requests[3];
    dawdle(own);
    MPI_Ibcast(whole.data(), kN / 10, type, 0, comm, &requests[0]);
    MPI_Ibcast(apart.data(), 1, gaps, 0, comm, &requests[1]);
    MPI_Iallreduce(out.data(), in.data(), kN, MPI_INT, op, comm, &requests[2]);
    MPI_Type_free(&type);
    MPI_Type_free(&gaps);
    MPI_Op_free(&op);
    CHECK(type == MPI_DATATYPE_NULL && gaps == MPI_DATATYPE_NULL && op == MPI_OP_NULL);
    if (kFreesComm && round % 2 == 0) MPI_Comm_free(&comm);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(whole.has(3, 4 * kN));
    in.read();
    for (int i = 0; i < kN; ++i) CHECK(reinterpret_cast<int*>(in.bytes().data())[i] == size * i);
    apart.read();
    for (std::size_t i = 0; i < 4 * kN; ++i)
      if (i / 20 % 2 == 0) CHECK(apart.bytes()[i] == pattern(i, 4));
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
}

// Errors are the MPI library's.
void wrong() {
  MPI_Comm returning;
  MPI_Comm_dup(MPI_COMM_WORLD, &returning);
  MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
  Buffer buffer('D', kBytes);
  for (int i = 0; i < 10; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(class_of(MPI_Ibcast(buffer.data(), -1, MPI_BYTE, 0, returning, &request)) ==
          MPI_ERR_COUNT);
    CHECK(class_of(MPI_Ibcast(buffer.data(), 10, MPI_BYTE, size, returning, &request)) ==
          MPI_ERR_ROOT);
    buffer.fill(rank == 1 ? i : -1);
    MPI_Ibcast(buffer.data(), length(kBytes), MPI_BYTE, 1, returning, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(buffer.has(i, kBytes));
  }
  MPI_Comm_free(&returning);
}

// Two threads, each with a communicator of its own; one of them at times in calls that wait in the
// MPI library.
void threads() {
  if (!several_threads()) return;
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::atomic<bool> there{false};
  const auto rounds = [&](unsigned which) {
    if (which == 1) take_same_device();
    there = true;
    Numbers alike(80 + which), own(static_cast<unsigned>(rank) + 90 + which);
    for (int round = 0; round < 30; ++round) {
      Several all;
      for (int i = 0; i < 4; ++i) {
        dawdle(own);
        all.push_back(std::make_unique<One>(static_cast<int>(alike.below(One::kKinds)), i % size,
                                            round, 'D', comms[which], false));
        if (alike.below(5) == 0) MPI_Barrier(comms[which]);
      }
      complete(all, own);
    }
  };
  std::thread other(rounds, 1U);
  while (!there) std::this_thread::yield();
  rounds(0U);
  other.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

// A thread waits in the MPI library for a message that comes when a collective is over, which
// another thread begins meanwhile and nobody waits for before.
void beside_a_waiting_thread() {
  if (!several_threads()) return;
  Buffer first('D', kBytes);
  MPI_Bcast(first.data(), length(kBytes), MPI_BYTE, 0, MPI_COMM_WORLD);  // ranks meet in it
  for (int round = 0; round < 8; ++round) {
    barrier();
    if (rank == 0) {
      std::vector<int> got(static_cast<std::size_t>(size), -1);
      std::thread other([&] {
        std::vector<MPI_Request> requests(static_cast<std::size_t>(size), MPI_REQUEST_NULL);
        for (int i = 1; i < size; ++i) {
          const auto at = static_cast<std::size_t>(i);
          if (round % 2 == 0)
            MPI_Recv(&got[at], 1, MPI_INT, i, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          else
            MPI_Irecv(&got[at], 1, MPI_INT, i, kTag, MPI_COMM_WORLD, &requests[at]);
        }
        MPI_Waitall(size, requests.data(), MPI_STATUSES_IGNORE);
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      One one(0, 0, round, 'D', MPI_COMM_WORLD, false);
      other.join();
      for (int i = 1; i < size; ++i) CHECK(got[static_cast<std::size_t>(i)] == round);
      MPI_Wait(&one.request, MPI_STATUS_IGNORE);
      one.check();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));  // rank 0 has begun it
      One one(0, 0, round, 'D', MPI_COMM_WORLD, false);
      MPI_Wait(&one.request, MPI_STATUS_IGNORE);
      one.check();
      MPI_Send(&round, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD);
    }
  }
}

// Nothing waits for the last ones but the end.
void unused() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int out = rank, in = -1;
  MPI_Request request;
  MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == size * (size - 1) / 2);
}

}  // namespace

int main(int argc, char** argv) {
  const Cases cases{{"outstanding", outstanding},
                    {"many", many},
                    {"beside", beside},
                    {"apart", apart},
                    {"again", again},
                    {"crossed", crossed},
                    {"given_back", given_back},
                    {"wrong", wrong},
                    {"threads", threads},
                    {"beside_a_waiting_thread", beside_a_waiting_thread},
                    {"unused", unused}};
  return run(argc, argv, cases, [] {});
}
