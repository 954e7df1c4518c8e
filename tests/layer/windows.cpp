// SPDX-License-Identifier: Apache-2.0
// One-sided communication of an MPI application with buffers and windows on devices.
#include <array>
#include <cstdint>
#include <thread>

#include "application.hpp"

namespace {

constexpr std::size_t kShort = 100;
constexpr std::size_t kLong = 100000;  // of such ones copies go on beside others
constexpr std::size_t kOffset = 40;    // of an access in it, and of the window in its allocation
constexpr int kUnit = 4;

int right() { return (rank + 1) % size; }
int left() { return (rank + size - 1) % size; }

// Each rank's memory: all on devices, one, or all but one.
const char* const kMixtures[] = {"DDD", "DHH", "HDD"};

// A window with numbers, all zero.
template <typename Number>
class Numbers {
 public:
  explicit Numbers(std::size_t n, char kind = 'D') : memory_(kind, n * sizeof(Number), kOffset) {
    std::memset(memory_.bytes().data(), 0, memory_.bytes().size());
    memory_.write();
    MPI_Win_create(memory_.data(), static_cast<MPI_Aint>(n * sizeof(Number)), sizeof(Number),
                   MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  }
  ~Numbers() { MPI_Win_free(&window); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  Number at(std::size_t i) { return all()[i]; }
  std::vector<Number> all() {
    memory_.read();
    std::vector<Number> out(memory_.bytes().size() / sizeof(Number));
    std::memcpy(out.data(), memory_.bytes().data(), memory_.bytes().size());
    return out;
  }

  MPI_Win window = MPI_WIN_NULL;

 private:
  Buffer memory_;
};

template <typename Number>
class Value {
 public:
  explicit Value(Number value, char kind = 'D') : memory_(kind, sizeof(Number)) { set(value); }
  void* data() const { return memory_.data(); }
  void set(Number value) {
    std::memcpy(memory_.bytes().data(), &value, sizeof(Number));
    memory_.write();
  }
  Number get() {
    memory_.read();
    Number out;
    std::memcpy(&out, memory_.bytes().data(), sizeof(Number));
    return out;
  }

 private:
  Buffer memory_;
};

// Memory of others stays open as long as the window.
void let_go() {
  int during = 0;
  {
    Numbers<int> numbers(10);
    const Value<int> one(1);
    MPI_Win_fence(0, numbers.window);
    MPI_Put(one.data(), 1, MPI_INT, right(), 0, 1, MPI_INT, numbers.window);
    MPI_Win_fence(0, numbers.window);
    CHECK(numbers.at(0) == 1);
    during = opened();
  }
  CHECK(opened() == during - 1);
}

// How an epoch of accesses to the right neighbour is begun and ended.
enum class Epoch { kFence, kAsserted, kLock, kExclusive, kLockAll, kMeeting, kRequest };
const Epoch kEpochs[] = {Epoch::kFence,   Epoch::kAsserted, Epoch::kLock,   Epoch::kExclusive,
                         Epoch::kLockAll, Epoch::kMeeting,  Epoch::kRequest};

MPI_Group only(MPI_Win window, int one) {
  MPI_Group all, group;
  MPI_Win_get_group(window, &all);
  MPI_Group_incl(all, 1, &one, &group);
  MPI_Group_free(&all);
  return group;
}

void begin(Epoch epoch, MPI_Win window) {
  if (epoch == Epoch::kFence) {
    MPI_Win_fence(0, window);
  } else if (epoch == Epoch::kAsserted) {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  } else if (epoch == Epoch::kMeeting) {
    MPI_Group origin = only(window, left()), target = only(window, right());
    MPI_Win_post(origin, 0, window);
    MPI_Win_start(target, 0, window);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
  } else {
    barrier();
    if (epoch == Epoch::kLockAll || epoch == Epoch::kRequest)
      MPI_Win_lock_all(0, window);
    else
      MPI_Win_lock(epoch == Epoch::kLock ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, right(), 0,
                   window);
  }
}

void end(Epoch epoch, MPI_Win window) {
  if (epoch == Epoch::kFence) {
    MPI_Win_fence(0, window);
  } else if (epoch == Epoch::kAsserted) {
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  } else if (epoch == Epoch::kMeeting) {
    MPI_Win_complete(window);
    MPI_Win_wait(window);
  } else {
    if (epoch == Epoch::kLockAll || epoch == Epoch::kRequest) {
      MPI_Win_flush(right(), window);
      MPI_Win_unlock_all(window);
    } else {
      MPI_Win_unlock(right(), window);
    }
    barrier();
  }
}

// Each rank writes into its right neighbour's memory, and reads what is behind that there.
void move_all(const char* mixture, char origin, std::size_t bytes, Epoch epoch) {
  const std::size_t half = bytes / 4 * 4 + 100, whole = 2 * half;
  const char kind = mixture[rank % 3];
  Buffer memory(kind, whole, kOffset);
  put_pattern(memory.bytes().data() + half, half, rank);
  memory.write();
  MPI_Win window;
  MPI_Win_create(memory.data(), static_cast<MPI_Aint>(whole), kUnit, MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  Buffer out(origin, bytes, 3), in(origin, bytes + 5, 7);
  out.fill(100 + rank);
  const int n = static_cast<int>(bytes);
  const MPI_Aint at = kOffset / kUnit, behind = static_cast<MPI_Aint>(half) / kUnit;
  begin(epoch, window);
  if (epoch == Epoch::kRequest) {
    MPI_Request requests[2];
    MPI_Rput(out.data(), n, MPI_BYTE, right(), at, n, MPI_BYTE, window, &requests[0]);
    MPI_Rget(in.data(), n, MPI_BYTE, right(), behind, n, MPI_BYTE, window, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    CHECK(in.has(right(), bytes));
  } else {
    MPI_Put(out.data(), n, MPI_BYTE, right(), at, n, MPI_BYTE, window);
    MPI_Get(in.data(), n, MPI_BYTE, right(), behind, n, MPI_BYTE, window);
  }
  end(epoch, window);
  CHECK(in.has(right(), bytes));
  memory.read();
  const unsigned char* const data = memory.bytes().data();
  CHECK(has_pattern(data + kOffset, 0, bytes, 100 + left()));
  CHECK(has_pattern(data, 0, kOffset, -1));
  CHECK(has_pattern(data, kOffset + bytes, half, -1));
  CHECK(has_pattern(data + half, 0, half, rank));
  MPI_Win_free(&window);
}

void moved() {
  for (const char* const mixture : kMixtures)
    for (const char origin : {'D', 'H'}) {
      for (const Epoch epoch : kEpochs) move_all(mixture, origin, kShort, epoch);
      for (const std::size_t bytes : {std::size_t{1}, kLong})
        for (const Epoch epoch : {Epoch::kFence, Epoch::kLockAll})
          move_all(mixture, origin, bytes, epoch);
    }
}

// Types with gaps, of the origin and of the target, which are others.
void gaps() {
  constexpr int kN = 1500;  // more than is copied piece by piece
  MPI_Datatype pairs, thirds;
  MPI_Type_vector(kN, 2, 4, MPI_INT, &pairs);
  MPI_Type_vector(2 * kN, 1, 3, MPI_INT, &thirds);
  MPI_Type_commit(&pairs);
  MPI_Type_commit(&thirds);
  for (const char origin : {'D', 'H'})
    for (const bool put : {true, false}) {
      constexpr std::size_t kWords = 6 * kN;
      Numbers<int> there(kWords);
      Buffer here(origin, kWords * sizeof(int));
      std::vector<int> words(kWords, -1);
      for (int i = 0; i < 2 * kN; ++i)
        words[static_cast<std::size_t>(4 * (i / 2) + i % 2)] = 1000 * rank + i;
      std::memcpy(here.bytes().data(), words.data(), kWords * sizeof(int));
      here.write();
      MPI_Win_fence(0, there.window);
      MPI_Put(here.data(), 1, pairs, right(), 0, 1, thirds, there.window);
      MPI_Win_fence(0, there.window);
      if (put) {
        const std::vector<int> got = there.all();
        for (std::size_t i = 0; i < kWords; ++i)
          CHECK(got[i] == (i % 3 == 0 ? 1000 * left() + static_cast<int>(i / 3) : 0));
        MPI_Win_fence(0, there.window);
        continue;
      }
      std::fill(words.begin(), words.end(), -1);
      std::memcpy(here.bytes().data(), words.data(), kWords * sizeof(int));
      here.write();
      MPI_Get(here.data(), 1, pairs, right(), 0, 1, thirds, there.window);
      MPI_Win_fence(0, there.window);
      here.read();
      std::memcpy(words.data(), here.bytes().data(), kWords * sizeof(int));
      for (int i = 0; i < 4 * kN; ++i)
        CHECK(words[static_cast<std::size_t>(i)] ==
              (i % 4 < 2 ? 1000 * rank + 2 * (i / 4) + i % 4 : -1));
    }
  MPI_Type_free(&pairs);
  MPI_Type_free(&thirds);
}

// All ranks add to rank 0's numbers at once, under locks that they share.
void added() {
  constexpr int kRounds = 60;
  Numbers<std::int64_t> sums(4);
  Value<std::int64_t> one(1), host_one(1, 'H'), was(0);
  Value<std::array<std::int64_t, 2>> two({10, 20});
  std::int64_t last = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, sums.window);
  for (int i = 0; i < kRounds; ++i) {
    MPI_Accumulate(one.data(), 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, sums.window);
    MPI_Accumulate(host_one.data(), 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, sums.window);
    MPI_Fetch_and_op(one.data(), was.data(), MPI_INT64_T, 0, 1, MPI_SUM, sums.window);
    MPI_Win_flush(0, sums.window);
    CHECK(was.get() > last);
    last = was.get();
    MPI_Request request;
    MPI_Raccumulate(two.data(), 2, MPI_INT64_T, 0, 2, 2, MPI_INT64_T, MPI_SUM, sums.window,
                    &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Win_unlock(0, sums.window);
  barrier();
  if (rank == 0) {
    CHECK(sums.at(0) == 2 * kRounds * size);
    CHECK(sums.at(1) == kRounds * size);
    CHECK(sums.at(2) == 10 * kRounds * size);
    CHECK(sums.at(3) == 20 * kRounds * size);
  }
}

// Other operations and types, on a rank's own memory too.
void combined() {
  for (const int target : {rank, right()}) {
    Numbers<double> numbers(8);
    Value<std::array<double, 4>> out({1, 2, 3, 4}), in({});
    const auto get = [&](const void* data, MPI_Op op, MPI_Datatype there) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, numbers.window);
      MPI_Request request;
      MPI_Rget_accumulate(data, 4, MPI_DOUBLE, in.data(), 4, MPI_DOUBLE, target, 0, 1, there, op,
                          numbers.window, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Win_unlock(target, numbers.window);
      barrier();
      return in.get();
    };
    using Four = std::array<double, 4>;
    MPI_Datatype whole, every_second;
    MPI_Type_contiguous(4, MPI_DOUBLE, &whole);
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &every_second);
    MPI_Type_commit(&whole);
    MPI_Type_commit(&every_second);
    CHECK((get(out.data(), MPI_REPLACE, whole) == Four{0, 0, 0, 0}));
    CHECK((get(out.data(), MPI_SUM, whole) == Four{1, 2, 3, 4}));
    out.set({5, 0, 5, 0});
    CHECK((get(out.data(), MPI_MAX, whole) == Four{2, 4, 6, 8}));
    CHECK((get(nullptr, MPI_NO_OP, whole) == Four{5, 4, 6, 8}));
    out.set({1, 1, 1, 1});
    CHECK((get(out.data(), MPI_SUM, every_second) == Four{5, 6, 0, 0}));
    CHECK((get(nullptr, MPI_NO_OP, every_second) == Four{6, 7, 1, 1}));
    CHECK((get(nullptr, MPI_NO_OP, whole) == Four{6, 4, 7, 8}));
    MPI_Type_free(&whole);
    MPI_Type_free(&every_second);
    barrier();
  }
  // Pairs of which the bytes between belong to nobody.
  struct Pair {
    double value;
    int place;
  };
  Numbers<Pair> best(1);
  Value<Pair> own({10.0 + rank, rank});
  MPI_Win_fence(0, best.window);
  MPI_Accumulate(own.data(), 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, best.window);
  MPI_Win_fence(0, best.window);
  if (rank == 0) CHECK(best.at(0).value == 9.0 + size && best.at(0).place == size - 1);
}

// What is read and written under a lock is no other's: one by MPI_Compare_and_swap, then an
// exclusive one of the window.
void locked() {
  constexpr int kRounds = 20;
  Numbers<int> numbers(3);
  Value<int> mine(rank + 1), free(0, 'H'), was(0), value(0);
  const auto count = [&](MPI_Aint place) {
    MPI_Get(value.data(), 1, MPI_INT, 0, place, 1, MPI_INT, numbers.window);
    MPI_Win_flush(0, numbers.window);
    value.set(value.get() + 1);
    MPI_Put(value.data(), 1, MPI_INT, 0, place, 1, MPI_INT, numbers.window);
    MPI_Win_flush(0, numbers.window);
  };
  MPI_Win_lock_all(0, numbers.window);
  for (int i = 0; i < kRounds; ++i) {
    do {
      MPI_Compare_and_swap(mine.data(), free.data(), was.data(), MPI_INT, 0, 0, numbers.window);
      MPI_Win_flush(0, numbers.window);
    } while (was.get() != 0);
    count(1);
    MPI_Accumulate(free.data(), 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, numbers.window);
    MPI_Win_flush(0, numbers.window);
  }
  MPI_Win_unlock_all(numbers.window);
  for (int i = 0; i < kRounds; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, numbers.window);
    count(2);
    MPI_Win_unlock(0, numbers.window);
  }
  barrier();
  if (rank == 0) CHECK(numbers.at(1) == kRounds * size && numbers.at(2) == kRounds * size);
}

// What a window says of itself, and what is outside of it.
void told() {
  Buffer memory('D', 1000, kOffset);
  MPI_Win window;
  MPI_Win_create(memory.data(), 1000, kUnit, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  void* value = nullptr;
  int found = 0;
  MPI_Win_get_attr(window, MPI_WIN_BASE, &value, &found);
  CHECK(found && value == memory.data());
  MPI_Win_get_attr(window, MPI_WIN_SIZE, &value, &found);
  CHECK(found && *static_cast<MPI_Aint*>(value) == 1000);
  MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, &value, &found);
  CHECK(found && *static_cast<int*>(value) == kUnit);
  MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &value, &found);
  CHECK(found && *static_cast<int*>(value) == MPI_WIN_FLAVOR_CREATE);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window, rank, &bytes, &unit, static_cast<void*>(&value));
  CHECK(bytes == 1000 && unit == kUnit && value == memory.data());
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, window);
  for (const MPI_Aint place : {-1, 249, 250})
    CHECK(class_of(MPI_Put(memory.data(), 5, MPI_BYTE, right(), place, 5, MPI_BYTE, window)) ==
          MPI_ERR_RMA_RANGE);
  CHECK(MPI_Put(nullptr, 0, MPI_BYTE, right(), 250, 0, MPI_BYTE, window) == MPI_SUCCESS);
  CHECK(MPI_Put(memory.data(), 5, MPI_BYTE, MPI_PROC_NULL, 0, 5, MPI_BYTE, window) == MPI_SUCCESS);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  CHECK(window == MPI_WIN_NULL);
}

// A window that the library does not free, as an epoch is open, is there as before.
void kept() {
#ifdef OPEN_MPI  // whose MPI_Win_free does not say so
  return;
#endif
  Numbers<int> numbers(4);
  const int value = 10 + rank;
  MPI_Win_set_errhandler(numbers.window, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, numbers.window);
  CHECK(class_of(MPI_Win_free(&numbers.window)) == MPI_ERR_RMA_SYNC);
  MPI_Put(&value, 1, MPI_INT, right(), 1, 1, MPI_INT, numbers.window);
  MPI_Win_unlock_all(numbers.window);
  barrier();
  CHECK(numbers.at(1) == 10 + left());
}

// Memory that was freed comes back, and so do handles of windows; several are there at once.
void again() {
  for (int i = 0; i < 40; ++i) {
    Numbers<int> first(100 + 1000 * static_cast<std::size_t>(i % 3));
    Numbers<int> host(100, 'H'), second(100);
    const int value = 1000 * i + rank;
    for (const MPI_Win window : {first.window, host.window, second.window}) {
      MPI_Win_fence(0, window);
      MPI_Put(&value, 1, MPI_INT, right(), i, 1, MPI_INT, window);
      MPI_Win_fence(0, window);
    }
    for (Numbers<int>* const each : {&first, &host, &second})
      CHECK(each->at(static_cast<std::size_t>(i)) == 1000 * i + left());
  }
}

// A rank without a device reaches that of another one all the same, and takes one only then.
void host_alone() {
  if (rank == 0) take_device();
  Numbers<int> numbers(4, rank == 0 ? 'D' : 'H');
  const int one = 1;
  int was = 0;
  MPI_Win_fence(0, numbers.window);
  for (int to = 0; to < size; ++to)
    MPI_Accumulate(&one, 1, MPI_INT, to, 1, 1, MPI_INT, MPI_SUM, numbers.window);
  MPI_Put(&rank, 1, MPI_INT, right(), 2, 1, MPI_INT, numbers.window);
  MPI_Win_fence(0, numbers.window);
  CHECK(numbers.at(1) == size && numbers.at(2) == left());
  MPI_Win_fence(0, numbers.window);
  MPI_Get(&was, 1, MPI_INT, 0, 2, 1, MPI_INT, numbers.window);
  MPI_Win_fence(0, numbers.window);
  CHECK(was == size - 1);
}

// Ranks of a window are those of its communicator.
void turned() {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  Buffer memory('D', 1000);
  MPI_Win window;
  MPI_Win_create(memory.data(), 1000, 1, MPI_INFO_NULL, comm, &window);
  MPI_Comm_free(&comm);
  Buffer out('D', 1000);
  out.fill(rank);
  MPI_Win_fence(0, window);
  MPI_Put(out.data(), 1000, MPI_BYTE, size - 1 - right(), 0, 1000, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  CHECK(memory.has(left(), 1000));
  MPI_Win_free(&window);
}

// Windows of host memory, and buffers on devices: of one that was created, and of the library's.
void of_the_host() {
  constexpr int kN = 20000;
  std::vector<int> memory(kN);
  int* numbers = memory.data();
  for (const bool allocated : {false, true}) {
    MPI_Win window;
    if (allocated)
      MPI_Win_allocate(kN * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                       static_cast<void*>(&numbers), &window);
    else
      MPI_Win_create(numbers, kN * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &window);
    for (const Epoch epoch : kEpochs) {
      Buffer out('D', kN * sizeof(int)), in('D', kN * sizeof(int));
      out.fill(rank + static_cast<int>(epoch));
      begin(epoch, window);
      MPI_Put(out.data(), kN, MPI_INT, right(), 0, kN, MPI_INT, window);
      end(epoch, window);
      begin(epoch, window);
      MPI_Get(in.data(), kN, MPI_INT, right(), 0, kN, MPI_INT, window);
      end(epoch, window);
      CHECK(in.has(rank + static_cast<int>(epoch), kN * sizeof(int)));
    }
    std::fill_n(numbers, kN, 0);
    barrier();
    Value<int> one(1), was(0), zero(0);
    MPI_Request request;
    MPI_Win_lock_all(0, window);
    MPI_Accumulate(one.data(), 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, window);
    MPI_Fetch_and_op(one.data(), was.data(), MPI_INT, 0, 1, MPI_SUM, window);
    MPI_Compare_and_swap(one.data(), zero.data(), was.data(), MPI_INT, right(), 2, window);
    MPI_Win_flush_all(window);
    CHECK(was.get() == 0);
    MPI_Rget(was.data(), 1, MPI_INT, right(), 2, 1, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(was.get() == 1);
    barrier();
    MPI_Get_accumulate(nullptr, 0, MPI_INT, was.data(), 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_NO_OP,
                       window);
    MPI_Win_flush_local(0, window);
    CHECK(was.get() == 2 * size);
    MPI_Win_unlock_all(window);
    barrier();
    MPI_Win_free(&window);
  }
}

// An access with a request is complete at its origin too when its epoch has ended, or was flushed;
// what the application does with its buffer then stays.
void ended() {
  constexpr int kN = 2000;
  std::vector<int> numbers(kN, rank);
  MPI_Win window;
  MPI_Win_create(numbers.data(), kN * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  MPI_Datatype every_second;
  MPI_Type_vector(kN / 2, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  void (*const ends[])(MPI_Win) = {[](MPI_Win all) { MPI_Win_unlock_all(all); },
                                   [](MPI_Win one) { MPI_Win_flush(right(), one); },
                                   [](MPI_Win all) { MPI_Win_flush_all(all); },
                                   [](MPI_Win one) { MPI_Win_flush_local(right(), one); },
                                   [](MPI_Win all) { MPI_Win_flush_local_all(all); }};
  for (const bool combines : {false, true})
    for (const auto& end : ends) {
      Buffer in('D', kN * sizeof(int));
      MPI_Request request;
      MPI_Win_lock_all(0, window);
      if (combines)
        MPI_Rget_accumulate(nullptr, 0, MPI_INT, in.data(), 1, every_second, right(), 0, 1,
                            every_second, MPI_NO_OP, window, &request);
      else
        MPI_Rget(in.data(), 1, every_second, right(), 0, 1, every_second, window, &request);
      end(window);
      in.read();
      for (std::size_t i = 0; i < kN; i += 2) {
        int number = 0;
        std::memcpy(&number, &in.bytes()[i * sizeof(int)], sizeof(int));
        CHECK(number == right());
      }
      in.fill(5);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(in.has(5, kN * sizeof(int)));
      if (&end != &ends[0]) MPI_Win_unlock_all(window);
    }
  MPI_Type_free(&every_second);
  barrier();
  MPI_Win_free(&window);
}

// Each of two threads completes its own accesses to one window of host memory.
void threads() {
  if (!several_threads()) return;
  constexpr int kRounds = 20, kBlocks = 200, kBlock = 100;
  constexpr std::size_t kBytes = 2 * kBlocks * kBlock;
  MPI_Datatype type;
  MPI_Type_vector(kBlocks, kBlock, 2 * kBlock, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  Buffer memory('H', kBytes);
  memory.fill(rank);
  MPI_Win window;
  MPI_Win_create(memory.data(), kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(0, window);
  Buffer mine('D', kBytes), others('D', kBytes);
  const auto rounds = [&](Buffer& in) {
    for (int i = 0; i < kRounds; ++i) {
      in.fill(-1);
      MPI_Get(in.data(), 1, type, right(), 0, 1, type, window);
      MPI_Win_flush(right(), window);
      in.read();
      for (std::size_t k = 0; k < kBytes; k += kBlock)
        CHECK(has_pattern(in.bytes().data(), k, k + kBlock, k / kBlock % 2 == 0 ? right() : -1));
    }
  };
  std::thread other([&] {
    take_same_device();
    rounds(others);
  });
  rounds(mine);
  other.join();
  MPI_Win_unlock_all(window);
  barrier();
  MPI_Win_free(&window);
  MPI_Type_free(&type);
}

// Memory of a pool has no handle: all ranks are told so, also that which has other memory.
void refused() {
  void* pool = nullptr;
  Buffer plain('D', 100);
  CHECK(cuda("cuMemAllocAsync", &pool, std::size_t{100}, stream) == 0);
  // By the handler of its communicator.
  MPI_Comm returning;
  MPI_Comm_dup(MPI_COMM_WORLD, &returning);
  MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
  MPI_Win window;
  CHECK(class_of(MPI_Win_create(rank == 0 ? pool : plain.data(), 100, 1, MPI_INFO_NULL, returning,
                                &window)) == MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Comm_free(&returning);
  CHECK(cuda("cuMemFreeAsync", pool, stream) == 0);
}

// Devices that do not reach each other.
void apart() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Buffer plain('D', 100);
  MPI_Win window;
  CHECK(class_of(MPI_Win_create(plain.data(), 100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window)) ==
        MPI_ERR_UNSUPPORTED_OPERATION);
}

void take(int device) {
  void* context = nullptr;
  CHECK(cuda("cuDevicePrimaryCtxRetain", &context, device) == 0);
  CHECK(cuda("cuCtxSetCurrent", context) == 0);
}

// Rank 0 has memory of a device that the other one does not reach, after both have used one.
void untried() {
  take(0);
  {
    Buffer first('D', 8);
    MPI_Send(first.data(), 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  }
  barrier();
  if (rank == 0) take(1);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Buffer memory(rank == 0 ? 'D' : 'H', 1000);
  MPI_Win window;
  CHECK(class_of(MPI_Win_create(memory.data(), 1000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window)) ==
        MPI_ERR_UNSUPPORTED_OPERATION);
}

// Rank 1 uses another device than that by which it reached rank 0's when the window was made.
void elsewhere() {
  Buffer memory(rank == 0 ? 'D' : 'H', 1000);
  if (rank == 1) take(0);
  MPI_Win window;
  MPI_Win_create(memory.data(), 1000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (rank == 1) {
    take(1);
    Buffer own('D', 1000), data('H', 1000);
    MPI_Send(own.data(), 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    data.fill(3);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Put(data.data(), 1000, MPI_BYTE, 0, 0, 1000, MPI_BYTE, window);
    MPI_Win_unlock(0, window);
  }
  barrier();
  if (rank == 0) CHECK(memory.has(3, 1000));
  MPI_Win_free(&window);
}

}  // namespace

int main(int argc, char** argv) {
  const Cases cases{{"host_alone", host_alone},
                    {"untried", untried},
                    {"moved", moved},
                    {"gaps", gaps},
                    {"added", added},
                    {"combined", combined},
                    {"locked", locked},
                    {"told", told},
                    {"kept", kept},
                    {"again", again},
                    {"turned", turned},
                    {"let_go", let_go},
                    {"refused", refused},
                    {"of_the_host", of_the_host},
                    {"ended", ended},
                    {"threads", threads},
                    {"elsewhere", elsewhere},
                    {"apart", apart}};
  return run(argc, argv, cases, [] {});
}
