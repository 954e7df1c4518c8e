// SPDX-License-Identifier: Apache-2.0
// All ranks of a group in one communicator of NCCL.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"
#include "group/group.hpp"
#include "transport/nccl/api.hpp"

namespace nearpeak::nccl {

// A graph with calls of a communicator, which destroys it before it is aborted.
struct RecordedGraph {
  std::unique_ptr<Graph> graph;
};

// Of one rank, with a stream of its own that all its operations go into. What fails, or has not
// ended after `limit_s` seconds, throws std::runtime_error with the name of the call. The
// communicator is aborted before, so that buffers can be freed, and can do no more: the processes
// of the other ranks must be ended then.
class Communicator {
 public:
  // Collective over the group. The library and the device outlive it. Where other ranks do not
  // come, a thread is left that waits for them: the process must end.
  Communicator(const Api& api, Group& group, Device& device, double limit_s);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // comm.call("ncclSend", api.ncclSend, buffer, count, type, peer): with communicator and stream.
  template <class Function, class... Arguments>
  void call(const char* name, Function function, Arguments... arguments) const {
    last_ = name;
    check(function(arguments..., handle_, stream_->native()), name);
  }
  const Api& api() const { return api_; }
  // Null where it was aborted.
  CommHandle handle() const { return handle_; }
  // Of its operations, for kernels between them.
  Stream& stream() const { return *stream_; }
  // What `work` calls here, as a graph. Throws AcceleratorError.
  std::shared_ptr<RecordedGraph> record_graph(const std::function<void()>& work) const;
  void launch(RecordedGraph& recorded, const char* name) const {
    last_ = name;
    recorded.graph->launch(*stream_);
  }
  void begin_group() const { check(api_.ncclGroupStart(), "ncclGroupStart"); }
  void end_group() const { check(api_.ncclGroupEnd(), "ncclGroupEnd"); }
  // Until all that was called is done. The stream is asked in turn with NCCL's errors, as in
  // nccl-tests: of what waits for a rank that is gone the stream never ends.
  void synchronize() const;

  // A byte of the device for what is empty, one each way: NCCL may leave that out.
  char* empty_out() const { return empty_.slot(0); }
  char* empty_in() const { return empty_.slot(1); }

 private:
  void check(int result, const char* name) const;
  void check_asynchronous() const;
  [[noreturn]] void fail(const std::string& text) const;
  void abort() const;

  const Api& api_;
  Device& device_;
  const double limit_s_;
  const std::unique_ptr<Stream> stream_;
  const SlotBuffer empty_;
  mutable CommHandle handle_ = nullptr;  // null again where it was aborted
  mutable const char* last_ = "";        // the call whose end is waited for
  mutable std::vector<std::weak_ptr<RecordedGraph>> graphs_;
  mutable bool is_recording_ = false;
  mutable bool has_failed_ = false;
};

// A group whose ranks have a communicator: what NCCL's benchmarks are given, as those of MPI have a
// group of MPI.
class NcclGroup final : public Group {
 public:
  // `by_sockets`: how the ranks of the group meet.
  NcclGroup(Group& group, const Api& api, Device& device, double limit_s, bool by_sockets)
      : group_(group), by_sockets_(by_sockets), communicator_(api, group, device, limit_s) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  // Ranks leave sockets one after the other, and the first would be timed while it waits in NCCL
  // for the last: there NCCL lets them go together.
  void barrier() override {
    group_.barrier();
    if (!by_sockets_) return;
    const Communicator& comm = communicator_;
    comm.call("ncclAllReduce", comm.api().ncclAllReduce, comm.empty_out(), comm.empty_in(), 1,
              kInt8, kSum);
    comm.synchronize();
  }
  void broadcast(void* data, std::size_t bytes) override { group_.broadcast(data, bytes); }
  void gather(const void* mine, std::size_t bytes, void* all) override {
    group_.gather(mine, bytes, all);
  }
  using Group::broadcast;
  using Group::gather;

  const Communicator& communicator() const { return communicator_; }

 private:
  Group& group_;
  const bool by_sockets_;
  const Communicator communicator_;
};

inline const Communicator& communicator_of(Group& group) {
  return static_cast<NcclGroup&>(group).communicator();
}

}  // namespace nearpeak::nccl
