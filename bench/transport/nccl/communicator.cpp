// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/communicator.hpp"

#include <sched.h>

#include <chrono>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "sampling/clock.hpp"

namespace nearpeak::nccl {
namespace {

constexpr std::int64_t kAskEveryNs = 1'000'000;  // for errors, while an operation goes on

std::string too_long(const std::string& name, double limit_s) {
  return name + " has not ended after " + std::to_string(static_cast<int>(limit_s)) +
         " s: another rank is gone or cannot be reached; NCCL_DEBUG=INFO tells more, a larger "
         "--limit-s waits longer";
}

struct Joined {
  int result = kSuccess;
  CommHandle handle = nullptr;
};

// ncclCommInitRank waits for all ranks, for ever, and can only be left behind: in a thread. One
// without that wait (2.14 and later) makes a communicator whose operations do not wait either.
Joined join(const Api& api, Device& device, int size, UniqueId id, int rank, double limit_s) {
  std::packaged_task<Joined()> task([init = api.ncclCommInitRank, &device, size, id, rank] {
    device.use_in_this_thread();  // NCCL takes the device that is current
    Joined joined;
    joined.result = init(&joined.handle, size, id, rank);
    return joined;
  });
  std::future<Joined> ended = task.get_future();
  std::thread(std::move(task)).detach();
  if (ended.wait_for(std::chrono::duration<double>(limit_s)) != std::future_status::ready)
    throw std::runtime_error(too_long("ncclCommInitRank", limit_s));
  return ended.get();
}

}  // namespace

Communicator::Communicator(const Api& api, Group& group, Device& device, double limit_s)
    : api_(api),
      device_(device),
      limit_s_(limit_s),
      stream_(device.new_stream()),
      empty_(device.memory(BufferKind::kDevice), 1, 2) {
  if (stream_->native() == nullptr)
    throw std::runtime_error("streams of " + device.info().name + " cannot be given to NCCL");
  device.use_in_this_thread();
  UniqueId id{};
  if (group.leads()) check(api_.ncclGetUniqueId(&id), "ncclGetUniqueId");
  id = group.broadcast(id);
  const Joined joined = join(api_, device, group.size(), id, group.rank(), limit_s_);
  handle_ = joined.handle;
  check(joined.result, "ncclCommInitRank");
}

Communicator::~Communicator() {
  // To destroy it would wait for ranks that may be gone.
  if (std::uncaught_exceptions() > 0)
    abort();
  else if (handle_ != nullptr)
    api_.ncclCommDestroy(handle_);
}

void Communicator::synchronize() const {
  const std::int64_t begin = now_ns();
  std::int64_t asked = begin;
  while (!stream_->finished()) {
    if (const std::int64_t now = now_ns(); now - asked > kAskEveryNs) {
      asked = now;
      check_asynchronous();
      if (static_cast<double>(now - begin) > limit_s_ * 1e9) fail(too_long(last_, limit_s_));
    }
    sched_yield();  // NCCL's own threads may need this CPU
  }
  check_asynchronous();
}

void Communicator::check_asynchronous() const {
  int error = kSuccess;
  check(api_.ncclCommGetAsyncError(handle_, &error), "ncclCommGetAsyncError");
  if (error != kInProgress) check(error, last_);
}

void Communicator::check(int result, const char* name) const {
  if (result == kSuccess) return;
  std::string text = std::string(name) + ": " + api_.ncclGetErrorString(result);
  if (api_.ncclGetLastError != nullptr)
    if (const char* const more = api_.ncclGetLastError(handle_); more != nullptr && *more != '\0')
      text += std::string(": ") + more;
  fail(text);
}

std::shared_ptr<RecordedGraph> Communicator::record_graph(const std::function<void()>& work) const {
  auto recorded = std::make_shared<RecordedGraph>();
  is_recording_ = true;
  try {
    recorded->graph = device_.record_graph(*stream_, work);
  } catch (...) {
    is_recording_ = false;
    if (has_failed_) abort();
    throw;
  }
  is_recording_ = false;
  graphs_.push_back(recorded);
  return recorded;
}

void Communicator::fail(const std::string& text) const {
  has_failed_ = true;
  if (!is_recording_) abort();  // else once the recording has ended
  throw std::runtime_error(text);
}

// NCCL waits then until no graph has calls of the communicator.
void Communicator::abort() const {
  for (const auto& known : graphs_)
    if (const auto recorded = known.lock()) recorded->graph.reset();
  graphs_.clear();
  if (handle_ != nullptr) api_.ncclCommAbort(handle_);
  handle_ = nullptr;
}

}  // namespace nearpeak::nccl
