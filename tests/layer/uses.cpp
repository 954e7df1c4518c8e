// SPDX-License-Identifier: Apache-2.0
// What applications do with MPI beside sending: they ask what it supports, give addresses by
// datatypes, start buffered sends again, and make mistakes that MPI has errors for.
#include <climits>
#include <cstdint>
#include <cstring>

#include "application.hpp"
#ifdef OPEN_MPI
extern "C" int MPIX_Query_cuda_support(void);
#endif

namespace {

#ifdef MPI_ABI  // whose libraries have it or not
int MPIX_Query_cuda_support() {
  auto* const function =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return function == nullptr ? 0 : function();
}
#endif

constexpr int kTag = 5;

void nothing_first() {}

// The words of an info's value between commas.
std::set<std::string> words_of(MPI_Info info) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int there = 0, length = 0;
  MPI_Info_get(info, "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL, value, &there);
  if (there == 0) return {};
  int again = 0;
  MPI_Info_get_valuelen(info, "mpi_memory_alloc_kinds", &length, &again);
  CHECK(again == 1 && length == static_cast<int>(std::strlen(value)));
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
  char same[MPI_MAX_INFO_VAL + 1] = "";
  int room = 0;
  MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, nullptr, &again);
  CHECK(again == 1 && room == length + 1);
  MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, same, &again);
  CHECK(std::strcmp(same, value) == 0);
#endif
  std::set<std::string> words;
  for (const char* word = std::strtok(value, ","); word != nullptr;
       word = std::strtok(nullptr, ","))
    words.insert(word);
  return words;
}

void check_kinds(MPI_Info info, bool expected) {
  const std::set<std::string> words = words_of(info);
  for (const char* kind : {"cuda", "cuda:device"}) CHECK(words.count(kind) == (expected ? 1 : 0));
  if (expected) CHECK(words.count("mpi") == 1 && words.count("system") == 1);
}

// Windows to which memory of devices cannot be attached, and files, support none.
void check_kinds_of_windows(bool expected) {
  char memory[8];
  MPI_Win window, dynamic;
  MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  for (MPI_Win each : {window, dynamic}) {
    MPI_Info info;
    MPI_Win_get_info(each, &info);
    if (each == window)
      check_kinds(info, expected);
    else
      CHECK(words_of(info).count("cuda") == 0);
    MPI_Info_free(&info);
  }
  MPI_Win_free(&dynamic);
  MPI_Win_free(&window);
  MPI_File file;
  MPI_Info info;
  MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_get_info(file, &info);
  CHECK(words_of(info).count("cuda") == 0);
  MPI_Info_free(&info);
  MPI_File_close(&file);
}

// Of a session that asks for them, as the standard has it, and of a communicator that is made of it
// (MPI-4.1, 12.4.3). Without the layer Open MPI 5 repeats what was asked for.
void check_kinds_of_sessions() {
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
  MPI_Info wanted, info;
  MPI_Info_create(&wanted);
  MPI_Info_set(wanted, "mpi_memory_alloc_kinds", "mpi,system,cuda:device");
  MPI_Session session;
  CHECK(MPI_Session_init(wanted, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  MPI_Info_free(&wanted);
  MPI_Session_get_info(session, &info);
  check_kinds(info, true);
  MPI_Info_free(&info);
  MPI_Group group;
  MPI_Comm comm;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "kinds", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Comm_get_info(comm, &info);
  check_kinds(info, true);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
#endif
}

// Whether all that can be asked says what `expected` says of memory of devices.
void check_support(bool expected) {
  CHECK((MPIX_Query_cuda_support() != 0) == expected);
#ifdef MPIX_GPU_SUPPORT_CUDA
  int supported = -1;
  CHECK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS);
  CHECK((supported != 0) == expected);
  CHECK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &supported) == MPI_SUCCESS);
  CHECK(supported == 0);
  CHECK(MPIX_Query_ze_support() == 0);
#endif
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Info of_world, of_own;
  MPI_Comm_get_info(MPI_COMM_WORLD, &of_world);
  MPI_Comm_get_info(own, &of_own);
  for (MPI_Info info : {of_world, of_own, MPI_INFO_ENV}) check_kinds(info, expected);
  MPI_Info_free(&of_own);
  MPI_Info_free(&of_world);
  MPI_Comm_free(&own);
  check_kinds_of_windows(expected);
  if (expected) check_kinds_of_sessions();
}

void asked() { check_support(true); }
void asked_without() { check_support(false); }

// Each start of a persistent send sends what the buffer holds then, also where the message before
// is still in the buffer of buffered sends.
void buffered_again() {
  constexpr int kBytes = 300000, kStarts = 5;
  std::vector<char> attached((kBytes + 4096) * 2 * kStarts);
  for (const bool all : {false, true}) {
    MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
    Buffer buffer('D', kBytes), other('D', kBytes);
    if (rank == 0) {
      MPI_Request requests[2];
      MPI_Bsend_init(buffer.data(), kBytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &requests[0]);
      MPI_Bsend_init(other.data(), kBytes, MPI_BYTE, 1, kTag + 1, MPI_COMM_WORLD, &requests[1]);
      for (int i = 0; i < kStarts; ++i) {
        buffer.fill(i);
        other.fill(i + 50);
        if (all)
          MPI_Startall(2, requests);
        else
          for (MPI_Request& each : requests) MPI_Start(&each);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      }
      barrier();
      for (MPI_Request& each : requests) MPI_Request_free(&each);
    } else {
      barrier();
      for (int i = 0; rank == 1 && i < kStarts; ++i)
        for (const int own : {0, 1}) {
          MPI_Recv(buffer.data(), kBytes, MPI_BYTE, 0, kTag + own, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
          CHECK(buffer.has(i + 50 * own, kBytes));
        }
    }
    void* data = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&data, &bytes);
  }
}

// A count that overflowed, as applications compute it for messages of 2 GiB and more.
void wrong_counts() {
  const int n = INT_MIN + 8;
  Buffer buffer('D', 1000), other('D', 1000);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request request = MPI_REQUEST_NULL;
  for (void* data : {buffer.data(), static_cast<void*>(&request)}) {
    CHECK(class_of(MPI_Send(data, n, MPI_BYTE, 0, kTag, comm)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Isend(data, n, MPI_BYTE, 0, kTag, comm, &request)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Ssend(data, n, MPI_BYTE, 0, kTag, comm)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Send_init(data, n, MPI_BYTE, 0, kTag, comm, &request)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Recv(data, n, MPI_BYTE, 0, kTag, comm, MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Irecv(data, n, MPI_BYTE, 0, kTag, comm, &request)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Recv_init(data, n, MPI_BYTE, 0, kTag, comm, &request)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Sendrecv(other.data(), 1, MPI_BYTE, MPI_PROC_NULL, kTag, data, n, MPI_BYTE,
                                0, kTag, comm, MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Sendrecv_replace(data, n, MPI_BYTE, 0, kTag, 0, kTag, comm,
                                        MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Bcast(data, n, MPI_BYTE, 0, comm)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Allgather(data, n, MPI_BYTE, other.data(), n, MPI_BYTE, comm)) ==
          MPI_ERR_COUNT);
  }
  MPI_Comm_free(&comm);
}

// A receive whose send was wrong takes no message.
void wrong_ranks() {
  Buffer out('D', 1000), in('D', 1000);
  out.fill(rank);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Sendrecv(out.data(), 1000, MPI_BYTE, 1, kTag, in.data(), 1000, MPI_BYTE, 0,
                              kTag, comm, MPI_STATUS_IGNORE)) == MPI_ERR_RANK);
  CHECK(class_of(MPI_Sendrecv_replace(in.data(), 1000, MPI_BYTE, 1, kTag, 0, kTag, comm,
                                      MPI_STATUS_IGNORE)) == MPI_ERR_RANK);
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
  MPI_Request both;
  CHECK(class_of(MPI_Isendrecv(out.data(), 1000, MPI_BYTE, 1, kTag, in.data(), 1000, MPI_BYTE, 0,
                               kTag, comm, &both)) == MPI_ERR_RANK);
#endif
  MPI_Request request;
  Buffer right('D', 1000);
  MPI_Irecv(right.data(), 1000, MPI_BYTE, 0, kTag, comm, &request);
  MPI_Send(out.data(), 1000, MPI_BYTE, 0, kTag, comm);
  int done = 0;
  for (int i = 0; i < 10000 && done == 0; ++i) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  CHECK(done == 1 && right.has(rank, 1000) && in.has(-1, 1000));
  MPI_Comm_free(&comm);
}

// With MPI_BOTTOM displacements are addresses, also of types without gaps. Before there is any type
// with some.
void absolute() {
  constexpr int kBytes = 5000;
  const int periodic = 1, next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  const MPI_Datatype types[]{MPI_BYTE, MPI_BYTE};
  const int n[]{kBytes, kBytes};
  for (const char* kinds : {"DD", "DH", "HD", "HH"})
    for (const bool of_one : {false, true}) {  // rank alone; the others have a buffer
      const bool bottom = !of_one || rank == 0;
      Buffer out(kinds[0], kBytes), in(kinds[1], 2 * kBytes);
      MPI_Aint from = 0, to = 0;
      MPI_Get_address(out.data(), &from);
      MPI_Get_address(in.data(), &to);
      if (!bottom) from = to = 0;
      const void* const data = bottom ? MPI_BOTTOM : out.data();
      void* const got = bottom ? MPI_BOTTOM : in.data();
      const MPI_Aint places[]{from, from}, in_places[]{to, to + kBytes};
      MPI_Request request;
      int seed = 0;
      const auto fill = [&] {
        out.fill(rank + ++seed);
        in.fill(-1);
      };
      // The same goes to both neighbours.
      const auto check = [&] {
        in.read();
        const int from_whom[]{last, next};
        for (const int i : {0, 1})
          CHECK(std::memcmp(in.bytes().data() + kBytes * i, pattern_of(from_whom[i] + seed),
                            kBytes) == 0);
      };
      fill();
      MPI_Neighbor_alltoallw(data, n, places, types, got, n, in_places, types, ring);
      check();
      fill();
      MPI_Ineighbor_alltoallw(data, n, places, types, got, n, in_places, types, ring, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      check();
#if MPI_VERSION >= 4
      const auto start_twice = [&](const auto& check_data) {
        for (int start = 0; start < 2; ++start) {
          fill();
          MPI_Start(&request);
          MPI_Wait(&request, MPI_STATUS_IGNORE);
          check_data();
        }
        MPI_Request_free(&request);
      };
      MPI_Neighbor_alltoallw_init(data, n, places, types, got, n, in_places, types, ring,
                                  MPI_INFO_NULL, &request);
      start_twice(check);
      // Of one buffer each: MPICH calls two of MPI_BOTTOM the same.
      const auto ranks = static_cast<std::size_t>(size);
      const int part = kBytes / size;
      const std::vector<MPI_Count> each(ranks, part);
      const std::vector<MPI_Aint> there(ranks, from), zero(ranks, 0);
      std::vector<MPI_Aint> here, behind;
      for (int i = 0; i < size; ++i) {
        here.push_back(to + i * part);
        behind.push_back(i * part);
      }
      const auto check_all = [&] {
        in.read();
        for (int i = 0; i < size; ++i)
          CHECK(std::memcmp(in.bytes().data() + i * part, pattern_of(i + seed),
                            static_cast<std::size_t>(part)) == 0);
      };
      fill();
      MPI_Alltoallv_c(data, each.data(), there.data(), MPI_BYTE, in.data(), each.data(),
                      behind.data(), MPI_BYTE, MPI_COMM_WORLD);
      check_all();
      MPI_Alltoallv_init_c(out.data(), each.data(), zero.data(), MPI_BYTE, got, each.data(),
                           here.data(), MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      start_twice(check_all);
#endif
    }
  MPI_Comm_free(&ring);
}

// Elements that begin `offset` bytes from the address that a call is given.
class Elsewhere {
 public:
  Elsewhere(MPI_Aint offset, int n) {
    MPI_Type_create_hindexed(1, &n, &offset, MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~Elsewhere() { MPI_Type_free(&type_); }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// The address that leads to a buffer by an offset.
void* before(const Buffer& buffer, MPI_Aint offset) {
  return reinterpret_cast<void*>(reinterpret_cast<MPI_Aint>(buffer.data()) - offset);
}

constexpr int kElsewhere = 5000;

void send_elsewhere(char kind, char in_kind, MPI_Aint offset, MPI_Aint in_offset) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  Buffer buffer(kind, kElsewhere), in(in_kind, kElsewhere);
  buffer.fill(rank);
  const Elsewhere from(offset, kElsewhere), to(in_offset, kElsewhere);
  MPI_Sendrecv(before(buffer, offset), 1, from.type(), next, kTag, before(in, in_offset), 1,
               to.type(), last, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in.has(last, kElsewhere));
  in.fill(-1);
  MPI_Request requests[2];
  MPI_Irecv(before(in, in_offset), 1, to.type(), last, kTag, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(before(buffer, offset), 1, from.type(), next, kTag, MPI_COMM_WORLD, &requests[1]);
  MPI_Start(&requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[1]);
  CHECK(in.has(last, kElsewhere));
}

void collect_elsewhere(char kind, MPI_Aint offset) {
  Buffer buffer(kind, kElsewhere), all(kind, kElsewhere * static_cast<std::size_t>(size));
  buffer.fill(rank);
  const Elsewhere its(offset, kElsewhere);
  MPI_Bcast(before(buffer, offset), 1, its.type(), size - 1, MPI_COMM_WORLD);
  CHECK(buffer.has(size - 1, kElsewhere));
  buffer.fill(rank);
  MPI_Gather(before(buffer, offset), 1, its.type(), all.data(), kElsewhere, MPI_BYTE, 0,
             MPI_COMM_WORLD);
  MPI_Request request;
  if (rank == 0) {
    all.read();
    for (int i = 0; i < size; ++i)
      CHECK(std::memcmp(all.bytes().data() + kElsewhere * i, pattern_of(i), kElsewhere) == 0);
  }
  MPI_Iscatter(all.data(), kElsewhere, MPI_BYTE, before(buffer, offset), 1, its.type(), 0,
               MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(buffer.has(rank, kElsewhere));
  std::vector<char> packed(kElsewhere);
  int place = 0;
  MPI_Pack(before(buffer, offset), 1, its.type(), packed.data(), kElsewhere, &place,
           MPI_COMM_WORLD);
  buffer.fill(-1);
  place = 0;
  MPI_Unpack(packed.data(), kElsewhere, &place, before(buffer, offset), 1, its.type(),
             MPI_COMM_WORLD);
  CHECK(buffer.has(rank, kElsewhere));
  MPI_Win window;
  std::vector<unsigned char> there(kElsewhere);
  MPI_Win_create(there.data(), kElsewhere, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(before(buffer, offset), 1, its.type(), (rank + 1) % size, 0, kElsewhere, MPI_BYTE,
          window);
  MPI_Win_fence(0, window);
  CHECK(std::memcmp(there.data(), pattern_of((rank + size - 1) % size), kElsewhere) == 0);
  MPI_Win_free(&window);
}

// The address of a buffer may be outside of its allocation, of the host or of a device: what counts
// is where the elements are (MPI-4.1, 5.1.12).
void elsewhere() {
  constexpr MPI_Aint kFar = MPI_Aint{1} << 20;
  for (const char* kinds : {"DD", "DH", "HD", "HH"})
    for (const MPI_Aint offset : {kFar, -kFar, MPI_Aint{24}})
      send_elsewhere(kinds[0], kinds[1], offset, -offset);
  for (const char kind : {'D', 'H'})
    for (const MPI_Aint offset : {kFar, -kFar}) collect_elsewhere(kind, offset);
}

// With MPI_BOTTOM the type has the addresses.
void bottom() {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (const char* kinds : {"DD", "DH", "HD", "HH"}) {
    Buffer buffer(kinds[0], 2 * kElsewhere), in(kinds[1], 2 * kElsewhere);
    buffer.fill(rank);
    MPI_Datatype types[2];
    for (const int i : {0, 1}) {
      const int lengths[2]{kElsewhere, kElsewhere};
      MPI_Aint places[2];
      MPI_Get_address(i == 0 ? buffer.data() : in.data(), &places[0]);
      places[1] = places[0] + kElsewhere;
      MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &types[i]);
      MPI_Type_commit(&types[i]);
    }
    MPI_Request request;
    MPI_Irecv(MPI_BOTTOM, 1, types[1], last, kTag, MPI_COMM_WORLD, &request);
    MPI_Send(MPI_BOTTOM, 1, types[0], next, kTag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in.has(last, 2 * kElsewhere));
    MPI_Recv_init(MPI_BOTTOM, 1, types[1], last, kTag, MPI_COMM_WORLD, &request);
    for (int start = 1; start <= 2; ++start) {
      buffer.fill(rank + start);
      MPI_Start(&request);
      MPI_Send(MPI_BOTTOM, 1, types[0], next, kTag, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(in.has(last + start, 2 * kElsewhere));
    }
    MPI_Request_free(&request);
    buffer.fill(rank);
    MPI_Bcast(MPI_BOTTOM, 1, types[0], 0, MPI_COMM_WORLD);
    CHECK(buffer.has(0, 2 * kElsewhere));
    for (MPI_Datatype& type : types) MPI_Type_free(&type);
  }
}

// A ring of short and long messages between devices, and from devices to the host.
void send_around(int seed) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (const std::size_t bytes : {100, 5000, 300000})
    for (const char kind : {'D', 'H'}) {
      Buffer out('D', bytes), in(kind, bytes);
      out.fill(rank + seed);
      MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, next, kTag, in.data(),
                   static_cast<int>(bytes), MPI_BYTE, last, kTag, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      CHECK(in.has(last + seed, bytes));
    }
}

// cudaDeviceReset between messages: everything on the device goes, the layer's, too.
void reset() {
  constexpr int kRings = 20;  // so many that kernels carry short messages
  for (int i = 0; i < 3 * kRings; ++i) {
    send_around(i);
    if (i % kRings != kRings - 1) continue;
    barrier();
    CHECK(cuda("cuDevicePrimaryCtxReset_v2", each_sees_one ? 0 : device_of(rank)) == 0);
    take_device();
  }
}

// Of the ranks that have reset their device, the first work with it is for another rank: a long
// message between host memory here and device memory there.
void reset_alone() {
  constexpr int kBytes = 300000;
  send_around(0);
  barrier();
  const bool has_reset = rank % 2 == 0;
  if (has_reset)
    CHECK(cuda("cuDevicePrimaryCtxReset_v2", each_sees_one ? 0 : device_of(rank)) == 0);
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  const char kind = has_reset ? 'H' : 'D';
  for (int i = 0; i < 2; ++i) {
    Buffer out(kind, kBytes), in(kind, kBytes);
    out.fill(rank + i);
    MPI_Sendrecv(out.data(), kBytes, MPI_BYTE, next, kTag, in.data(), kBytes, MPI_BYTE, last, kTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.has(last + i, kBytes));
  }
  if (has_reset) take_device();
}

// The same after the last message.
void reset_last() {
  send_around(0);
  barrier();
  CHECK(cuda("cuDevicePrimaryCtxReset_v2", device_of(rank)) == 0);
}

// One type that leads to memory of a device and to other memory is not done, and says so.
void lead_on(const Buffer& first, const Buffer& second) {
  const int lengths[2]{100, 100};
  MPI_Aint places[2];
  MPI_Get_address(first.data(), &places[0]);
  MPI_Get_address(second.data(), &places[1]);
  MPI_Datatype type;
  MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Send(MPI_BOTTOM, 1, type, rank, kTag, MPI_COMM_WORLD);
}
void to_host() { lead_on(Buffer('D', 100), Buffer('H', 100)); }
void to_another() {
  const Buffer first('D', 8 << 20), between('D', 8 << 20), second('D', 8 << 20);
  lead_on(first, second);
}

// What is refused with a buffer on a device is so too where a datatype leads there.
void attached() {
  Buffer buffer('D', 1000);
  const Elsewhere its(reinterpret_cast<MPI_Aint>(buffer.data()), 1000);
  MPI_Request request;
  MPI_Comm returning;
  MPI_Comm_dup(MPI_COMM_WORLD, &returning);
  MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Psend_init(MPI_BOTTOM, 1, 1, its.type(), 0, kTag, returning, MPI_INFO_NULL,
                                &request)) == MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Comm_free(&returning);
  // Its own handler returns.
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  CHECK(class_of(MPI_File_write(file, MPI_BOTTOM, 1, its.type(), MPI_STATUS_IGNORE)) ==
        MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_File_close(&file);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Buffer_attach(buffer.data(), 1000)) == MPI_ERR_BUFFER);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int main(int argc, char** argv) {
  Cases cases{{"asked", asked},
              {"buffered_again", buffered_again},
              {"wrong_counts", wrong_counts},
              {"wrong_ranks", wrong_ranks},
              {"absolute", absolute},
              {"elsewhere", elsewhere},
              {"bottom", bottom},
              {"attached", attached},
              {"reset", reset},
              {"reset_alone", reset_alone}};
  // Which end the program.
  cases["to_host"] = to_host;
  cases["to_another"] = to_another;
  cases["reset_last"] = reset_last;
  // Which need the layer off.
  cases["asked_without"] = asked_without;
  return run(argc, argv, cases, nothing_first);
}
