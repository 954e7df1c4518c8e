// SPDX-License-Identifier: Apache-2.0
#include "layer/intercept/support.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

constexpr char kKey[] = "mpi_memory_alloc_kinds";
constexpr char kUsual[] = "mpi,system";  // of every library (MPI-4.1, 12.4.3)
// By the names of the MPI Forum's side document on memory allocation kinds.
constexpr std::array kKinds{"cuda", "cuda:host", "cuda:device", "cuda:managed"};

bool lists(const std::string& kinds, const std::string& kind) {
  return ("," + kinds + ",").find("," + kind + ",") != std::string::npos;
}

std::string value_of(MPI_Info info) {
  std::array<char, MPI_MAX_INFO_VAL + 1> text{};
  int there = 0;
  NEARPEAK_REAL(MPI_Info_get)(info, kKey, MPI_MAX_INFO_VAL, text.data(), &there);
  return there != 0 ? text.data() : "";
}

// What an info says, with the layer's kinds.
std::string kinds_of(MPI_Info info) {
  std::string kinds = value_of(info);
  if (kinds.empty()) kinds = kUsual;
  for (const char* const kind : kKinds)
    if (!lists(kinds, kind)) kinds.append(",").append(kind);
  return kinds;
}

bool asks_environment(MPI_Info info, const char* key) {
  return world.on && key != nullptr && std::strcmp(key, kKey) == 0 && info == calls::info_env();
}

// As C's strings are handed out: at most `room` characters and a zero.
void write(const std::string& text, int room, char* to) {
  if (room < 0) return;
  const std::size_t bytes = std::min(text.size(), static_cast<std::size_t>(room));
  std::memcpy(to, text.data(), bytes);
  to[bytes] = '\0';
}

}  // namespace

int with_kinds(int code, const MPI_Info* info) {
  if (code != MPI_SUCCESS || !world.on) return code;
  return NEARPEAK_REAL(MPI_Info_set)(*info, kKey, kinds_of(*info).c_str());
}

int without_kinds(int code, const MPI_Info* info) {
  if (code != MPI_SUCCESS || !world.on) return code;
  const std::string all = value_of(*info);
  std::string kinds;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find(',', begin), all.size());
    const std::string kind = all.substr(begin, end - begin);
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end())
      kinds.append(kinds.empty() ? "" : ",").append(kind);
    begin = end + 1;
  }
  return kinds == all ? code : NEARPEAK_REAL(MPI_Info_set)(*info, kKey, kinds.c_str());
}

int get_info(MPI_Info info, const char* key, int room, char* value, int* flag) {
  if (!asks_environment(info, key))
    return NEARPEAK_REAL(MPI_Info_get)(info, key, room, value, flag);
  write(kinds_of(info), room, value);
  *flag = 1;
  return MPI_SUCCESS;
}

int get_info_length(MPI_Info info, const char* key, int* length, int* flag) {
  if (!asks_environment(info, key))
    return NEARPEAK_REAL(MPI_Info_get_valuelen)(info, key, length, flag);
  *length = static_cast<int>(kinds_of(info).size());
  *flag = 1;
  return MPI_SUCCESS;
}

#if NEARPEAK_MPI_LEVEL >= 40
int get_info_string(MPI_Info info, const char* key, int* room, char* value, int* flag) {
  if (!asks_environment(info, key))
    return NEARPEAK_REAL(MPI_Info_get_string)(info, key, room, value, flag);
  const std::string kinds = kinds_of(info);
  write(kinds, *room - 1, value);
  *room = static_cast<int>(kinds.size()) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
#endif

namespace {

// Not every library has these functions: without one it supports nothing.
template <typename Function>
Function* own(const char* name) {
  return reinterpret_cast<Function*>(calls::find_if_there(name));
}

int query_cuda() {
  if (world.on) return 1;
  static auto* const function = own<int()>("MPIX_Query_cuda_support");
  return function == nullptr ? 0 : function();
}

}  // namespace
}  // namespace nearpeak::layer

// Not every header has them.
#define ASKED extern "C" __attribute__((visibility("default"))) int
ASKED MPIX_Query_cuda_support(void);
#ifndef OMPI_MAJOR_VERSION
ASKED PMPIX_Query_cuda_support(void);
ASKED MPIX_GPU_query_support(int kind, int* supported);
ASKED PMPIX_GPU_query_support(int kind, int* supported);
ALWAYS_PROFILED(MPIX_Query_cuda_support)
ALWAYS_PROFILED(MPIX_GPU_query_support)
extern "C" int MPIX_GPU_query_support(int kind, int* supported) {
  using namespace nearpeak::layer;
  constexpr int kCuda = 0;  // MPIX_GPU_SUPPORT_CUDA
  if (world.on && kind == kCuda) {
    *supported = 1;
    return MPI_SUCCESS;
  }
  static auto* const function = own<int(int, int*)>("MPIX_GPU_query_support");
  if (function != nullptr) return function(kind, supported);
  *supported = 0;
  return MPI_SUCCESS;
}
#endif
extern "C" int MPIX_Query_cuda_support(void) { return nearpeak::layer::query_cuda(); }
