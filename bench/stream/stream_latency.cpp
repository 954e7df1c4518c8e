// SPDX-License-Identifier: Apache-2.0
// Ping-pong of messages that a device has worked on before: as in most programs, which wait for its
// stream before they send; or enqueued, as in programs that give messages to the stream too: then
// an iteration is a batch of round trips, one behind the other in the stream, and both ranks wait
// for their stream once, behind the last. Beside it the same without the work, in the same launch.
#include "benchmark/check_memory.hpp"
#include "mpi/mpi_group.hpp"
#include "overlap/computation.hpp"
#include "pt2pt/pair_case.hpp"
#include "stream/enqueued.hpp"

namespace nearpeak {
namespace {

constexpr const char* kWork = "work";
constexpr const char* kOrder = "order";
constexpr std::uint64_t kSteps = 16;     // of a kernel: as short as one can be
constexpr std::uint64_t kEnqueued = 32;  // round trips of a batch
constexpr int kTag = 5;

// What the messages of one end go by.
class Channel {
 public:
  // Collective. Throws Unfit on all ranks.
  explicit Channel(const CaseContext& context)
      : comm_(comm_of(context.group)),
        peer_(1 - context.group.rank()),
        bytes_(static_cast<int>(context.bytes)),
        kernel_(context.axis(kWork) == "kernel") {
    Group& group = context.group;
    const std::string why = group.first_reason(why_no_device_work(context));
    if (!why.empty()) throw Unfit(why);
    on_every_rank(group, [&] { work_ = std::make_unique<DeviceWork>(*context.device, 1); });
    if (context.axis(kOrder) == "enqueued")
      enqueued_ = std::make_unique<StreamComm>(group, comm_, work_->stream());
  }

  bool enqueues() const { return enqueued_ != nullptr; }
  void work() {
    if (kernel_) work_->begin(kSteps);
  }
  void wait() { work_->finish(); }
  void send(const SlotBuffer& from, std::size_t slot) {
    MPI_Send(from.slot(slot), bytes_, MPI_BYTE, peer_, kTag, comm_);
  }
  void receive(const SlotBuffer& to, std::size_t slot) {
    MPI_Recv(to.slot(slot), bytes_, MPI_BYTE, peer_, kTag, comm_, MPI_STATUS_IGNORE);
  }
  void enqueue_send(const SlotBuffer& from, std::size_t slot) {
    enqueued_->send(from.slot(slot), bytes_, peer_);
  }
  void enqueue_receive(const SlotBuffer& to, std::size_t slot) {
    enqueued_->receive(to.slot(slot), bytes_, peer_);
  }

 private:
  const MPI_Comm comm_;
  const int peer_;
  const int bytes_;
  const bool kernel_;
  std::unique_ptr<DeviceWork> work_;
  std::unique_ptr<StreamComm> enqueued_;
};

struct Ends {
  Ends(const CaseContext& context, const Messages& messages)
      : channel(context), slots(messages, context.memory, context.memory, context.offset) {}
  Channel channel;
  Slots slots;
};

class StreamPingPong final : private Ends, public PairCase<Channel> {
 public:
  StreamPingPong(const CaseContext& context, const Messages& messages)
      : Ends(context, messages),
        PairCase(context, messages, slots.both(), channel),
        phases_(channel.enqueues() ? Names{"with work", "alone"}
                                   : Names{"with work", "alone", "synchronise"}) {}

  // With the work and without, and in a batch or not.
  std::optional<LinkBytes> payload() const override { return std::nullopt; }
  void run(std::uint64_t n) override {
    phases_.clear();
    phases_.start();
    if (!channel.enqueues())
      synchronised(n);
    else
      for (std::uint64_t i = 0; i < n; ++i) enqueued(kEnqueued);
    phases_.lap(kWithWork);
    alone(n * operations());
    phases_.lap(kAlone);
  }
  void first_use() override { one_trip(); }
  // Alone would bring the same once more.
  void run_round(std::uint64_t) override { one_trip(); }

  std::uint64_t operations() const override { return channel.enqueues() ? kEnqueued : 1; }
  std::vector<double> values(const Times& times) const override {
    return {times.phases_us[kWithWork] / 2, times.phases_us[kAlone] / 2};
  }
  const Phases& phases() const override { return phases_; }

 private:
  enum Phase : std::size_t { kWithWork, kAlone, kSynchronise };
  using Names = std::vector<std::string>;

  // A message each way, after work.
  void one_trip() {
    if (channel.enqueues())
      enqueued(1);
    else
      synchronised(1);
  }
  void synchronised(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (!is_first()) channel.receive(slots.in, slot(0));
      const std::int64_t begin = now_ns();
      channel.work();
      channel.wait();
      phases_.add(kSynchronise, static_cast<double>(now_ns() - begin));
      channel.send(slots.out, slot(0));
      if (is_first()) channel.receive(slots.in, slot(0));
      next_window();
    }
  }
  void enqueued(std::uint64_t trips) {
    for (std::uint64_t i = 0; i < trips; ++i) {
      if (!is_first()) channel.enqueue_receive(slots.in, slot(0));
      channel.work();
      channel.enqueue_send(slots.out, slot(0));
      if (is_first()) channel.enqueue_receive(slots.in, slot(0));
      next_window();
    }
    channel.wait();
  }
  void alone(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (!is_first()) channel.receive(slots.in, slot(0));
      channel.send(slots.out, slot(0));
      if (is_first()) channel.receive(slots.in, slot(0));
      next_window();
    }
  }

  Phases phases_;
};

std::unique_ptr<Case> make(const CaseContext& context) {
  const Messages messages = both_ways_messages(context, 1);
  check_memory(context, {.all = Slots::bytes(messages)});
  return std::make_unique<StreamPingPong>(context, messages);
}

const Register entry(
    {.info =
         {.name = "stream_latency",
          .summary = "time of one message one way that waits for a stream of the device before "
                     "it is sent, and the same without: half the round trip of a ping-pong",
          .metrics = {{"stream_latency", "us", "lower"}, {"alone", "us", "lower"}},
          .smallest = 1,
          .axes = {{kWork,
                    {"kernel", "none"},
                    "what the stream has before each message: the shortest kernel, or nothing"},
                   {kOrder,
                    {"synchronised", "enqueued"},
                    "who keeps the order: the program waits for the stream and sends; or it gives "
                    "the messages to the stream too (MPIX_Send_enqueue), 32 round trips one behind "
                    "the other before it waits, and the time is of one"}},
          .moves = {.ways = 4}},
     .make = make});

}  // namespace
}  // namespace nearpeak
