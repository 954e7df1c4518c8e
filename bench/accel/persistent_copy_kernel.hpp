// SPDX-License-Identifier: Apache-2.0
// A kernel that stays for a while and carries small pieces between a device's memory and the CPU's,
// or within what the device reaches, in less time than a call of the driver needs. Orders and
// answers lie in pinned memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "accel/accelerator.hpp"

namespace nearpeak {

// What the CPU and the kernel share; all zero at first. One order is open at a time, and is known
// by its mark: 1, 2, ... and never 0.
struct CopyMailbox {
  static constexpr unsigned kWords = 32;  // of 8 bytes, that an order or answer has inside
  static constexpr std::size_t kInside = 8 * kWords;
  static constexpr std::size_t kStaged = 16384;  // bytes that go through the mailbox otherwise

  enum Kind : std::uint32_t {
    kToDevice = 1,  // what is inside goes to the address
    kToHost = 2,    // what is at the address comes inside the answer
    kMove = 3,      // from the address to the one that is the first word inside
    kLeave = 4,
  };

  // Four words of 32 bits, stored half by half, of which a GPU moves all at once.
  struct alignas(16) Quad {
    std::atomic<std::uint64_t> low;
    std::atomic<std::uint64_t> high;
  };
  // {address, address, kind and bytes, mark}, stored when the words are there. They lie behind it,
  // so that one look finds both.
  alignas(4096) Quad order;
  Quad words[kWords];                            // {word, word, 0, mark}
  alignas(4096) Quad answers[kWords];            // of kToHost: {word, mark, word, mark}
  alignas(128) std::atomic<std::uint32_t> done;  // of the others: the mark
  alignas(128) std::atomic<std::uint32_t> here;  // the number of the last kernel that has begun
  // That of the last one that has ended, in the upper 32 bits, and the mark of the order that it
  // would have served next.
  alignas(128) std::atomic<std::uint64_t> left;
  alignas(4096) unsigned char staged[kStaged + 16];

  static constexpr std::uint32_t kKindShift = 28;
};

// One device's, for one thread. Each of its calls does all of a piece or nothing: false where no
// kernel is there, which is launched for later ones then, if pieces come close behind one another.
// It never waits for a kernel to begin, which may be long where others fill the device.
class PersistentCopyKernel {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 20;  // within what the device reaches

  // An idle kernel ends after `patience`: what waits for the whole device waits for it. Compiles
  // the kernel. Throws BackendUnavailable or AcceleratorError.
  PersistentCopyKernel(Device& device, std::chrono::microseconds patience);
  ~PersistentCopyKernel();
  PersistentCopyKernel(const PersistentCopyKernel&) = delete;
  PersistentCopyKernel& operator=(const PersistentCopyKernel&) = delete;

  // From and to any host memory. Throw AcceleratorError where the device is broken.
  bool copy_to_host(void* host, const void* from, std::size_t bytes);
  bool copy_to_device(void* to, const void* host, std::size_t bytes);
  // Between addresses that kernels of the device reach.
  bool copy_between_devices(void* to, const void* from, std::size_t bytes);

  // Answers took so long, again and again, that the device must be another's at times: it does
  // nothing from now on.
  bool slow() const { return slow_; }
  std::uint64_t carried() const { return carried_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kLeast = 2;

  bool ready();
  void note_end();
  void launch();
  bool has_left() const { return mailbox_->left.load(std::memory_order_acquire) >> 32 == number_; }
  void ring(CopyMailbox::Kind kind, const void* address, std::size_t bytes);
  template <typename Answered>
  bool answered(const Answered& all_there);
  bool done();
  bool move(const void* to, const void* from, std::size_t bytes);
  const void* on_device(const unsigned char* staged) const;
  void note_time(bool quick);

  const std::chrono::microseconds patience_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
  SlotBuffer memory_;
  CopyMailbox* mailbox_;
  std::unique_ptr<RegisteredMemory> registered_;
  std::uint32_t number_ = 0;  // of the last kernel
  bool launched_ = false;
  std::uint64_t before_ = 0;  // what was carried when it was launched
  unsigned close_ = 0;        // pieces that came close behind others, since there is no kernel
  unsigned wanted_ = kLeast;  // for which one is launched
  std::uint32_t mark_ = 1;    // of the next order
  std::size_t bytes_ = 0;     // of the present one
  Clock::time_point last_{};
  int debt_ = 0;
  bool slow_ = false;
  std::uint64_t carried_ = 0;
};

}  // namespace nearpeak
