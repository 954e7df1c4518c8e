// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library: one-sided operations on NEARPEAK_FAULTY_BYTES bytes have the
// fault of NEARPEAK_FAULT:
//   dropped   it is not done
//   late      it is done, or its data arrives, when the next one is called
//   wrong     its last byte is another (put)
//   moved     it is done 8 bytes further on (put, get)
//   gap       it is of more: a byte (put, get), a number (others)
//   twice     it is done twice
//   once      it is done in one place alone
//   careless  compare-and-swap does not compare
// What /proc/meminfo says is what NEARPEAK_MEMINFO names, where it names a file.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#ifdef OPEN_MPI
// It is preloaded into the launcher too, which has none.
#pragma weak ompi_mpi_op_replace
#endif

#include "faulty.hpp"

namespace {

// What is late.
std::function<int()> held;
std::function<void()> arrive;

std::string fault_of(int count, MPI_Datatype type) { return fault_of_size(bytes_of(count, type)); }

// Does it as often, and when, the fault says.
int with_fault(const std::string& fault, MPI_Aint place, const std::function<int()>& operation) {
  static const MPI_Aint only = place;
  if (fault == "dropped" || (fault == "once" && place != only)) return MPI_SUCCESS;
  if (fault == "late") {
    const int result = held ? held() : MPI_SUCCESS;
    held = operation;
    return result;
  }
  if (fault == "twice") operation();
  return operation();
}

// What is on its way stays where it is for as long as some windows last.
std::vector<char>& next_copy() {
  static std::array<std::vector<char>, 64> all;
  static std::size_t next = 0;
  return all[next++ % all.size()];
}

}  // namespace

extern "C" {

int MPI_Win_free(MPI_Win* window) {
  held = nullptr;
  arrive = nullptr;
  return PMPI_Win_free(window);
}

int MPI_Put(const void* from, int count, MPI_Datatype type, int peer, MPI_Aint place, int there,
            MPI_Datatype their_type, MPI_Win window) {
  const std::string fault = fault_of(count, type);
  if (fault == "wrong" || fault == "late") {
    std::vector<char>& copy = next_copy();
    const auto* const bytes = static_cast<const char*>(from);
    copy.assign(bytes, bytes + count);
    copy.back() ^= fault == "wrong" ? 1 : 0;
    from = copy.data();
  }
  const int more = fault == "gap" ? 1 : 0;
  const MPI_Aint further = fault == "moved" ? 8 : 0;
  return with_fault(fault, place, [=] {
    return PMPI_Put(from, count + more, type, peer, place + further, there + more, their_type,
                    window);
  });
}

int MPI_Get(void* to, int count, MPI_Datatype type, int peer, MPI_Aint place, int there,
            MPI_Datatype their_type, MPI_Win window) {
  const std::string fault = fault_of(count, type);
  if (fault == "late") {
    if (arrive) arrive();
    std::vector<char>& copy = next_copy();
    copy.resize(static_cast<std::size_t>(count));
    arrive = [&copy, to] { std::memcpy(to, copy.data(), copy.size()); };
    return PMPI_Get(copy.data(), count, type, peer, place, there, their_type, window);
  }
  const int more = fault == "gap" ? 1 : 0;
  const MPI_Aint further = fault == "moved" ? 8 : 0;
  return with_fault(fault, place, [=] {
    return PMPI_Get(to, count + more, type, peer, place + further, there + more, their_type,
                    window);
  });
}

int MPI_Accumulate(const void* from, int count, MPI_Datatype type, int peer, MPI_Aint place,
                   int there, MPI_Datatype their_type, MPI_Op op, MPI_Win window) {
  const std::string fault = fault_of(count, type);
  const int more = fault == "gap" ? 1 : 0;
  return with_fault(fault, place, [=] {
    return PMPI_Accumulate(from, count + more, type, peer, place, there + more, their_type, op,
                           window);
  });
}

int MPI_Get_accumulate(const void* from, int count, MPI_Datatype type, void* to, int received,
                       MPI_Datatype to_type, int peer, MPI_Aint place, int there,
                       MPI_Datatype their_type, MPI_Op op, MPI_Win window) {
  const std::string fault = fault_of(count, type);
  const int more = fault == "gap" ? 1 : 0;
  return with_fault(fault, place, [=] {
    return PMPI_Get_accumulate(from, count + more, type, to, received + more, to_type, peer, place,
                               there + more, their_type, op, window);
  });
}

int MPI_Fetch_and_op(const void* from, void* to, MPI_Datatype type, int peer, MPI_Aint place,
                     MPI_Op op, MPI_Win window) {
  return with_fault(fault_of(1, type), place,
                    [=] { return PMPI_Fetch_and_op(from, to, type, peer, place, op, window); });
}

int MPI_Compare_and_swap(const void* from, const void* compared, void* to, MPI_Datatype type,
                         int peer, MPI_Aint place, MPI_Win window) {
  const std::string fault = fault_of(1, type);
  if (fault == "careless")
    return PMPI_Fetch_and_op(from, to, type, peer, place, MPI_REPLACE, window);
  return with_fault(fault, place, [=] { return PMPI_Compare_and_swap(from, compared, to, type, peer, place, window); });
}

FILE* fopen64(const char* path, const char* mode) {
  using Open = FILE* (*)(const char*, const char*);
  static const auto open = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "fopen64"));
  const std::string other = variable("NEARPEAK_MEMINFO");
  const bool is_other = !other.empty() && std::strcmp(path, "/proc/meminfo") == 0;
  return open(is_other ? other.c_str() : path, mode);
}

FILE* fopen(const char* path, const char* mode) { return fopen64(path, mode); }

}  // extern "C"
