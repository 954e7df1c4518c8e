// SPDX-License-Identifier: Apache-2.0
// What applications do with MPI beside sending: they ask what it supports, give addresses by
// datatypes, start buffered sends again, and make mistakes that MPI has errors for.
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

}  // namespace

int main(int argc, char** argv) {
  Cases cases{{"asked", asked}};
  // Which need the layer off.
  cases["asked_without"] = asked_without;
  return run(argc, argv, cases, nothing_first);
}
