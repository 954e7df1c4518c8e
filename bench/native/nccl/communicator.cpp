// SPDX-License-Identifier: Apache-2.0
#include "native/nccl/communicator.hpp"

#include <exception>
#include <stdexcept>
#include <string>

namespace nearpeak::nccl {

Communicator::Communicator(const Api& api, Group& group, Device& device)
    : api_(api), stream_(device.new_stream()), empty_(device.memory(BufferKind::kDevice), 1, 2) {
  if (stream_->native() == nullptr)
    throw std::runtime_error("streams of " + device.info().name + " cannot be given to NCCL");
  device.use_in_this_thread();  // NCCL takes the device that is current
  UniqueId id{};
  if (group.leads()) check(api_.ncclGetUniqueId(&id), "ncclGetUniqueId");
  id = group.broadcast(id);
  check(api_.ncclCommInitRank(&handle_, group.size(), id, group.rank()), "ncclCommInitRank");
}

Communicator::~Communicator() {
  if (handle_ == nullptr) return;
  // To destroy it would wait for ranks that may be gone.
  if (std::uncaught_exceptions() > 0)
    api_.ncclCommAbort(handle_);
  else
    api_.ncclCommDestroy(handle_);
}

void Communicator::synchronize() const {
  stream_->synchronize();
  int error = kSuccess;
  check(api_.ncclCommGetAsyncError(handle_, &error), "ncclCommGetAsyncError");
  check(error, "an operation of NCCL");
}

void Communicator::check(int result, const char* name) const {
  if (result == kSuccess) return;
  std::string text = std::string(name) + ": " + api_.ncclGetErrorString(result);
  if (api_.ncclGetLastError != nullptr)
    if (const char* const more = api_.ncclGetLastError(handle_); more != nullptr && *more != '\0')
      text += std::string(": ") + more;
  throw std::runtime_error(text);
}

}  // namespace nearpeak::nccl
