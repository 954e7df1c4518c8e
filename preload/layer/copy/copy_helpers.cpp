// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/copy_helpers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "accel/quiet_thread.hpp"

namespace nearpeak::layer {
namespace {

using Clock = std::chrono::steady_clock;

// To hand over a part takes about as long as to copy some KiB.
constexpr std::size_t kLeastPart = std::size_t{16} << 10;
constexpr std::size_t kCacheLine = 64;
// Longer than from one piece of a message to the next.
constexpr std::chrono::microseconds kAwake{100};

}  // namespace

class CopyHelpers::Helper {
  enum class State : std::uint32_t { kIdle, kAsked, kCopying, kDone, kEnding };

 public:
  Helper() : thread_(quiet_thread([this] { run(); })) {}
  ~Helper() {
    set(State::kEnding);
    thread_.join();
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  void ask(std::size_t offset, std::size_t bytes, const Copy& copy) {
    copy_ = &copy;
    offset_ = offset;
    bytes_ = bytes;
    set(State::kAsked);
  }

  // After ask(): returns when the part is copied, by this thread if the helper has not begun.
  std::exception_ptr finish() {
    if (take()) copy();
    while (state_.load(std::memory_order_acquire) == State::kCopying) {
    }
    state_.store(State::kIdle, std::memory_order_relaxed);
    return std::exchange(error_, nullptr);
  }

 private:
  void set(State state) {
    state_.store(state, std::memory_order_release);
    state_.notify_one();
  }

  bool take() {
    State asked = State::kAsked;
    return state_.compare_exchange_strong(asked, State::kCopying, std::memory_order_acquire);
  }

  void copy() {
    try {
      (*copy_)(offset_, bytes_);
    } catch (...) {
      error_ = std::current_exception();
    }
    state_.store(State::kDone, std::memory_order_release);
  }

  void run() {
    for (;;) {
      const auto begin = Clock::now();
      State state = state_.load(std::memory_order_acquire);
      while (state != State::kAsked && state != State::kEnding) {
        if (Clock::now() - begin > kAwake) state_.wait(state);
        state = state_.load(std::memory_order_acquire);
      }
      if (state == State::kEnding) return;
      if (take()) copy();
    }
  }

  std::atomic<State> state_{State::kIdle};
  const Copy* copy_ = nullptr;
  std::size_t offset_ = 0;
  std::size_t bytes_ = 0;
  std::exception_ptr error_;
  std::thread thread_;  // the last: it uses all others
};

CopyHelpers::CopyHelpers(std::size_t threads) {
  try {
    while (helpers_.size() < threads) helpers_.push_back(std::make_unique<Helper>());
  } catch (const std::system_error&) {
  }
}

CopyHelpers::~CopyHelpers() = default;

void CopyHelpers::share(std::size_t bytes, const Copy& copy) {
  const std::size_t parts = std::min(helpers_.size() + 1, bytes / kLeastPart);
  if (parts < 2) return copy(0, bytes);
  const std::size_t lines = (bytes + kCacheLine - 1) / kCacheLine;
  const std::size_t part = (lines + parts - 1) / parts * kCacheLine;
  for (std::size_t i = 1; i < parts; ++i)
    helpers_[i - 1]->ask(i * part, std::min(part, bytes - i * part), copy);
  std::exception_ptr error;
  try {
    copy(0, part);
  } catch (...) {
    error = std::current_exception();
  }
  for (std::size_t i = 1; i < parts; ++i)
    if (const auto of_part = helpers_[i - 1]->finish(); of_part) error = of_part;
  if (error) std::rethrow_exception(error);
}

}  // namespace nearpeak::layer
