// SPDX-License-Identifier: Apache-2.0
// Device memory that NCCL has been told of: its user buffer registration.
#pragma once

#include <map>
#include <string>

#include "accel/memory.hpp"
#include "transport/nccl/communicator.hpp"

namespace nearpeak::nccl {

// The axis, and its values as nccl-tests numbers them (-R 0, 1 and 2).
inline constexpr const char* kRegister = "register";
inline constexpr const char* kNone = "none";
inline constexpr const char* kLocal = "local";          // ncclCommRegister
inline constexpr const char* kSymmetric = "symmetric";  // ncclCommWindowRegister

// Memory from ncclMemAlloc, registered as long as it is allocated. allocate() throws
// AcceleratorError with the reason if NCCL cannot register it.
class LocalMemory final : public ForwardingMemory {
 public:
  LocalMemory(const Communicator& comm, Memory& device) : ForwardingMemory(device), comm_(comm) {}
  void* allocate(std::size_t bytes) override;
  void release(void* memory) override;

 private:
  const Communicator& comm_;
  std::map<void*, void*> handles_;
};

// Memory from ncclMemAlloc in symmetric windows. allocate() is collective: all ranks get as much as
// the rank that asks for most, as a symmetric window has one size. If it throws, it throws on all.
class SymmetricMemory final : public ForwardingMemory {
 public:
  SymmetricMemory(Group& group, const Communicator& comm, Memory& device)
      : ForwardingMemory(device), group_(group), comm_(comm) {}
  void* allocate(std::size_t bytes) override;
  void release(void* memory) override;

 private:
  Group& group_;
  const Communicator& comm_;
  std::map<void*, WindowHandle> windows_;
};

}  // namespace nearpeak::nccl
