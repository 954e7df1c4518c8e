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
  for (MPI_Info info : {of_world, of_own, MPI_INFO_ENV}) {
    const std::set<std::string> words = words_of(info);
    for (const char* kind : {"cuda", "cuda:device"}) CHECK(words.count(kind) == (expected ? 1 : 0));
    if (expected) CHECK(words.count("mpi") == 1 && words.count("system") == 1);
  }
  MPI_Info_free(&of_own);
  MPI_Info_free(&of_world);
  MPI_Comm_free(&own);
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

}  // namespace

int main(int argc, char** argv) {
  Cases cases{{"asked", asked}, {"buffered_again", buffered_again}, {"wrong_counts", wrong_counts}};
  // Which need the layer off.
  cases["asked_without"] = asked_without;
  return run(argc, argv, cases, nothing_first);
}
