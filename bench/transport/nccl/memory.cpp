// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/memory.hpp"

namespace nearpeak::nccl {
namespace {

constexpr std::size_t kPage = 4096;  // what a window begins on, and is a multiple of

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Why there is none, or empty.
std::string allocate_by(const Api& api, std::size_t bytes, void*& memory) {
  if (std::string why = why_without(api, "ncclMemAlloc"); !why.empty()) return why;
  const int result = api.ncclMemAlloc(&memory, bytes);
  if (result == kSuccess) return "";
  memory = nullptr;
  return "ncclMemAlloc(" + std::to_string(bytes) + " B): " + api.ncclGetErrorString(result);
}

void free_by(const Api& api, void* memory) {
  if (memory != nullptr) api.ncclMemFree(memory);
}

// A handle of nothing is how NCCL says that it has registered nothing.
std::string why_not(const Api& api, const std::string& function, int result, const void* handle,
                    const std::string& hint) {
  if (result != kSuccess) return function + ": " + api.ncclGetErrorString(result);
  if (handle == nullptr) return function + " of " + api.name() + " has registered nothing: " + hint;
  return "";
}

}  // namespace

void* LocalMemory::allocate(std::size_t bytes) {
  const Api& api = comm_.api();
  void* memory = nullptr;
  void* handle = nullptr;
  std::string why = why_without(api, "ncclCommRegister");
  if (why.empty()) why = allocate_by(api, whole_pages(bytes), memory);
  if (why.empty()) {
    const int result = api.ncclCommRegister(comm_.handle(), memory, whole_pages(bytes), &handle);
    why = why_not(api, "ncclCommRegister", result, handle, "is NCCL_LOCAL_REGISTER 0?");
  }
  if (!why.empty()) {
    free_by(api, memory);
    throw AcceleratorError(why);
  }
  handles_[memory] = handle;
  return memory;
}

void LocalMemory::release(void* memory) {
  const auto found = handles_.extract(memory);
  if (comm_.handle() != nullptr) comm_.api().ncclCommDeregister(comm_.handle(), found.mapped());
  free_by(comm_.api(), memory);
}

// Every rank comes to every step, whatever fails on it.
void* SymmetricMemory::allocate(std::size_t bytes) {
  const Api& api = comm_.api();
  const std::size_t whole = whole_pages(group_.largest(bytes));
  void* memory = nullptr;
  WindowHandle window = nullptr;
  std::string why = why_without(api, "ncclCommWindowRegister");
  if (why.empty()) why = allocate_by(api, whole, memory);
  why = group_.first_reason(why);
  if (why.empty()) {
    const int result =
        api.ncclCommWindowRegister(comm_.handle(), memory, whole, &window, kCollectiveSymmetric);
    why = group_.first_reason(
        why_not(api, "ncclCommWindowRegister", result, window,
                "symmetric windows need GPUs that reach each other's memory, NCCL_CUMEM_ENABLE and "
                "NCCL_WIN_ENABLE"));
  }
  if (!why.empty()) {
    if (window != nullptr) api.ncclCommWindowDeregister(comm_.handle(), window);
    free_by(api, memory);
    throw AcceleratorError(why);
  }
  windows_[memory] = window;
  return memory;
}

void SymmetricMemory::release(void* memory) {
  const auto found = windows_.extract(memory);
  if (comm_.handle() != nullptr)
    comm_.api().ncclCommWindowDeregister(comm_.handle(), found.mapped());
  free_by(comm_.api(), memory);
}

}  // namespace nearpeak::nccl
