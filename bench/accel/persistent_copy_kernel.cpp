// SPDX-License-Identifier: Apache-2.0
#include "accel/persistent_copy_kernel.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace nearpeak {
namespace {

using Mailbox = CopyMailbox;
constexpr unsigned kThreads = 512;

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

bool lie_alike(const void* a, const void* b) { return (number_of(a) - number_of(b)) % 16 == 0; }

}  // namespace

PersistentCopyKernel::PersistentCopyKernel(Device& device, std::chrono::microseconds patience)
    : patience_(patience),
      program_(kernels_of(device).persistent_copy()),
      kernel_(program_->kernel("persistent_copy")),
      stream_(device.new_background_stream()),
      memory_(host_memory(), sizeof(Mailbox), 1),
      mailbox_(reinterpret_cast<Mailbox*>(memory_.slot(0))) {
  static_assert(sizeof(Mailbox) % 4096 == 0);
  std::memset(static_cast<void*>(mailbox_), 0, sizeof(Mailbox));
  registered_ = registration_of(device).register_memory(mailbox_, sizeof(Mailbox));
  // A process that is forked would leave one of both with a copy that the device does not see.
  madvise(mailbox_, sizeof(Mailbox), MADV_DONTFORK);
}

PersistentCopyKernel::~PersistentCopyKernel() {
  ring(Mailbox::kLeave, nullptr, 0);
  try {
    stream_->synchronize();
  } catch (const std::exception&) {  // a broken context has said so before
  }
  // Others get these pages from malloc, and forked processes have them.
  madvise(mailbox_, sizeof(Mailbox), MADV_DOFORK);
}

void PersistentCopyKernel::launch() {
  ++number_;
  void* const mailbox = registered_->on_device();
  const std::uint64_t next = mark_;
  const std::uint64_t number = number_;
  const std::uint64_t patience_ns = static_cast<std::uint64_t>(patience_.count()) * 1000;
  kernel_->launch({.blocks = 1, .threads = kThreads}, {&mailbox, &next, &number, &patience_ns},
                  *stream_);
  launched_ = true;
  before_ = carried_;
}

// A launch takes as long as some pieces: whoever seldom has so many behind one another waits for
// more of them before the next one.
void PersistentCopyKernel::note_end() {
  constexpr std::uint64_t kWorthIt = 8;
  constexpr unsigned kMostWanted = 1024;
  launched_ = false;
  close_ = 0;
  wanted_ = carried_ - before_ < kWorthIt ? std::min(2 * wanted_, kMostWanted) : kLeast;
}

// A kernel for a piece that comes alone would be no gain, and keep others waiting.
bool PersistentCopyKernel::ready() {
  if (slow_) return false;
  const Clock::time_point now = Clock::now();
  const bool close = now - last_ < patience_;
  last_ = now;
  if (launched_ && has_left()) note_end();
  if (!launched_) {
    close_ = close ? close_ + 1 : 0;
    if (close_ >= wanted_) launch();
  }
  return launched_ && mailbox_->here.load(std::memory_order_acquire) == number_;
}

void PersistentCopyKernel::ring(Mailbox::Kind kind, const void* address, std::size_t bytes) {
  const std::uint64_t what = static_cast<std::uint64_t>(kind) << Mailbox::kKindShift | bytes;
  bytes_ = bytes;
  mailbox_->order.low.store(number_of(address), std::memory_order_relaxed);
  mailbox_->order.high.store(what | static_cast<std::uint64_t>(mark_) << 32,
                             std::memory_order_release);
}

// The kernel has served what it says, and only that: an order that it left behind is never served,
// as the next kernel begins with another mark.
template <typename Answered>
bool PersistentCopyKernel::answered(const Answered& all_there) {
  constexpr int kQuick = 2000;  // looks, some microseconds
  constexpr int kRarely = 1 << 16;
  const std::uint32_t mark = mark_;
  bool served = false;
  bool ended = false;
  for (int tries = 1;; ++tries) {
    served = all_there();
    if (served) {
      note_time(tries < kQuick);
      break;
    }
    const std::uint64_t left = mailbox_->left.load(std::memory_order_acquire);
    if (left >> 32 == number_ && static_cast<std::uint32_t>(left) == mark) {
      note_end();
      break;
    }
    if (tries < kQuick) continue;
    sched_yield();
    if (ended) throw AcceleratorError("the kernel of small copies ended without saying so");
    // It throws, too, where the device is broken. What the kernel has said is looked for once more.
    ended = tries % kRarely == 0 && stream_->finished();
  }
  mark_ = mark == ~std::uint32_t{0} ? 1 : mark + 1;
  if (served) ++carried_;
  return served;
}

// Where kernels of several processes take turns an answer comes when it is this one's turn. A slow
// link carries a byte in a nanosecond.
void PersistentCopyKernel::note_time(bool quick) {
  constexpr int kOne = 16;
  constexpr int kTooMuch = 4 * kOne;
  if (quick || Clock::now() - last_ < patience_ + std::chrono::nanoseconds(bytes_))
    debt_ = std::max(debt_ - 1, 0);
  else
    debt_ += kOne;
  slow_ = slow_ || debt_ > kTooMuch;
}

bool PersistentCopyKernel::done() {
  const std::uint32_t mark = mark_;
  return answered([&] { return mailbox_->done.load(std::memory_order_acquire) == mark; });
}

const void* PersistentCopyKernel::on_device(const unsigned char* staged) const {
  return static_cast<const char*>(registered_->on_device()) +
         (staged - reinterpret_cast<const unsigned char*>(mailbox_));
}

bool PersistentCopyKernel::move(const void* to, const void* from, std::size_t bytes) {
  mailbox_->words[0].low.store(number_of(to), std::memory_order_relaxed);
  mailbox_->words[0].high.store(static_cast<std::uint64_t>(mark_) << 32, std::memory_order_release);
  ring(Mailbox::kMove, from, bytes);
  return done();
}

bool PersistentCopyKernel::copy_to_host(void* host, const void* from, std::size_t bytes) {
  if (bytes == 0 || bytes > Mailbox::kStaged || !ready()) return false;
  if (bytes > Mailbox::kInside) {
    unsigned char* const staged = mailbox_->staged + number_of(from) % 16;
    if (!move(on_device(staged), from, bytes)) return false;
    std::memcpy(host, staged, bytes);
    return true;
  }
  ring(Mailbox::kToHost, from, bytes);
  const std::size_t count = (bytes + 7) / 8;
  const std::uint32_t mark = mark_;
  std::uint64_t words[Mailbox::kWords];
  std::size_t there = 0;
  const bool served = answered([&] {
    for (; there < count; ++there) {
      const Mailbox::Quad& quad = mailbox_->answers[there];
      const std::uint64_t high = quad.high.load(std::memory_order_acquire);
      const std::uint64_t low = quad.low.load(std::memory_order_acquire);
      if (high >> 32 != mark || low >> 32 != mark) return false;
      words[there] = (low & 0xffffffff) | high << 32;
    }
    return true;
  });
  if (served) std::memcpy(host, words, bytes);
  return served;
}

bool PersistentCopyKernel::copy_to_device(void* to, const void* host, std::size_t bytes) {
  if (bytes == 0 || bytes > Mailbox::kStaged || !ready()) return false;
  if (bytes > Mailbox::kInside) {
    unsigned char* const staged = mailbox_->staged + number_of(to) % 16;
    std::memcpy(staged, host, bytes);
    return move(to, on_device(staged), bytes);
  }
  for (std::size_t i = 0; 8 * i < bytes; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(host) + 8 * i,
                std::min<std::size_t>(8, bytes - 8 * i));
    mailbox_->words[i].low.store(word, std::memory_order_relaxed);
    mailbox_->words[i].high.store(static_cast<std::uint64_t>(mark_) << 32,
                                  std::memory_order_release);
  }
  ring(Mailbox::kToDevice, to, bytes);
  return done();
}

bool PersistentCopyKernel::copy_between_devices(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || bytes > kMost || !lie_alike(to, from) || !ready()) return false;
  return move(to, from, bytes);
}

}  // namespace nearpeak
