// SPDX-License-Identifier: Apache-2.0
// Transports between processes of one host, through memory. Each is one file that registers itself.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "group/shared.hpp"
#include "transport/open_messages.hpp"
#include "transport/transport.hpp"

namespace nearpeak {

// The memory of one rank that all ranks have, made before they are forked.
class HostMemory {
 public:
  static constexpr std::size_t kInbox = std::size_t{1} << 20;

  struct Control {
    // What each transport makes of them; this rank alone writes them, and sets them to 0 when a
    // transport is made.
    Counter posted;  // messages that it sends
    Counter taken;   // what it has received
    Counter asked;   // messages that it is ready to receive
    pid_t process = 0;
    const char* out = nullptr;  // its private slots, in its own address space
  };

  // `slot_bytes`: of the slots that the others reach, each way.
  explicit HostMemory(std::size_t slot_bytes);

  Control& control() const { return *control_; }
  char* inbox() const { return inbox_.data(); }  // of messages on their way to this rank

  SharedMemory out;
  SharedMemory in;

  // Called by the rank itself: what it polls is on its own node.
  void touch() { inbox_.touch(); }

 private:
  SharedMemory control_memory_;
  SharedMemory inbox_;
  Control* control_;
};

// All that a transport has at one end.
struct HostEnd {
  const Messages& messages;
  HostMemory& own;
  HostMemory& peer;
  Wait wait;
  const SlotBuffer& out;
  const SlotBuffer& in;
  std::size_t stride;  // from slot to slot, at both ends

  // Of the transport before nothing may be left; nobody sends before a barrier.
  void reset() const {
    auto& control = own.control();
    for (Counter* counter : {&control.posted, &control.taken, &control.asked}) counter->tell(0);
  }
};

struct HostMethod {
  std::string name;
  // Whether it may win; the same answer at both ends.
  std::function<bool(const Messages&)> applies;
  std::function<std::unique_ptr<Transport>(const HostEnd&)> make;
  bool shared_out = false;  // it sends out of memory that both have mapped,
  bool shared_in = false;   // and receives into such
  // Why this end cannot use it, in one line; empty where it can.
  std::function<std::string(const HostEnd&)> unavailable = [](const HostEnd&) { return ""; };
};

// A static object of this type in a transport's file makes it known.
struct RegisterHostMethod {
  explicit RegisterHostMethod(HostMethod method);
};

std::vector<HostMethod> host_methods();  // by name

}  // namespace nearpeak
