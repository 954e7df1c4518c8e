// SPDX-License-Identifier: Apache-2.0
// Two processes of one node that move messages through memory. A method is one file that registers
// itself.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "native/process.hpp"
#include "native/team.hpp"

namespace nearpeak {

// The memory that both processes have, made before they are forked.
struct PairMemory {
  struct Control {
    Desk desk;
    Counter progress;
    // Of each rank; it alone writes them.
    std::array<Counter, 2> posted;  // messages that the other may take
    std::array<Counter, 2> done;    // messages that it has taken
    struct End {
      pid_t process;
      const char* out;  // its slots, in its own address space
    };
    std::array<End, 2> ends;
  };

  // `inbox_bytes`: of the messages that are copied through shared memory, each way.
  // `out_bytes`: of the slots that are sent from shared memory, of each rank.
  PairMemory(std::size_t inbox_bytes, std::size_t out_bytes);

  Control& control() { return *control_; }

  SharedMemory control_memory;
  std::array<SharedMemory, 2> inbox;  // of what this rank receives
  std::array<SharedMemory, 2> out;

 private:
  Control* control_;
};

// All that a method has at one end of an exchange.
struct PairEnd {
  const Exchange& exchange;
  PairMemory& memory;
  Wait wait;
  const SlotBuffer& out;  // private; of no bytes where this end sends nothing
  const SlotBuffer& in;
  std::size_t stride;  // from slot to slot, at both ends

  Counter& posted() const { return memory.control().posted[exchange.rank]; }
  Counter& peer_posted() const { return memory.control().posted[exchange.peer()]; }
  Counter& done() const { return memory.control().done[exchange.rank]; }
  Counter& peer_done() const { return memory.control().done[exchange.peer()]; }
  char* inbox() const { return memory.inbox[exchange.rank].data(); }
  char* peer_inbox() const { return memory.inbox[exchange.peer()].data(); }
};

template <class Self>
using PairTransfer = RoundTransfer<Self, PairEnd>;

struct PairMethod {
  std::string name;
  std::size_t smallest;  // bytes of a message: it is not tried below, nor above `largest`,
  std::size_t largest;   // as it cannot win there
  // Bytes of each rank's inbox.
  std::size_t (*inbox_bytes)(const Exchange& exchange);
  // Why it cannot be used, seen from this end.
  std::optional<std::string> (*unavailable)(const PairEnd& end);
  std::function<std::unique_ptr<Transfer>(const PairEnd& end)> make;
};

inline std::size_t no_inbox(const Exchange&) { return 0; }
inline std::optional<std::string> always_available(const PairEnd&) { return std::nullopt; }

// A static object of this type in a method's file makes it known.
struct RegisterPairMethod {
  explicit RegisterPairMethod(PairMethod method);
};

std::vector<PairMethod> pair_methods();  // by name

struct PairOptions {
  CommonOptions common;
  std::vector<int> cpus;  // two
  std::vector<Metric> metrics = pair_metrics();
  bool probe = true;
};

// Returns the exit status. Throws BadInput.
int run_pair(const PairOptions& options, const std::vector<PairMethod>& methods);

}  // namespace nearpeak
