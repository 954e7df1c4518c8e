// SPDX-License-Identifier: Apache-2.0
// A stay in a thread of somebody else's, as in a call of an application that a library has taken.
#pragma once

namespace nearpeak {

// What a driver has of each thread: which context, or device, is current, and what may be done
// while a stream is captured.
class Visited {
 public:
  struct Habits {
    void* context = nullptr;
    int device = 0;
    int capture = 0;
    bool known = false;
  };
  // Notes them; from then on whatever is done disturbs no capture of a stream.
  virtual void enter(Habits&) const noexcept {}
  virtual void leave(Habits&) const noexcept {}

 protected:
  ~Visited() = default;
};

// When the thread's outermost one ends, all of that is as it was before. Costs nothing of a driver
// until one is used.
class Visit {
 public:
  Visit() {
    if (of_thread == nullptr) of_thread = this;
  }
  ~Visit() {
    if (of_thread != this) return;
    of_thread = nullptr;
    if (visited_ != nullptr) visited_->leave(habits_);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // A driver says so before it changes anything of its. A visit is to one driver.
  static void begin(const Visited& driver) {
    Visit* const visit = of_thread;
    if (visit == nullptr || visit->visited_ != nullptr) return;
    visit->visited_ = &driver;
    driver.enter(visit->habits_);
  }

 private:
  [[gnu::tls_model("initial-exec")]] static inline thread_local constinit Visit* of_thread =
      nullptr;

  const Visited* visited_ = nullptr;
  Visited::Habits habits_;
};

}  // namespace nearpeak
