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
  struct Stay {
    const Visited* with = nullptr;
    Habits habits;
  };
  // Notes them; from then on whatever is done disturbs no capture of a stream.
  virtual void enter(Habits&) const noexcept {}
  virtual void leave(Habits&) const noexcept {}

 protected:
  ~Visited() = default;
};

// When it ends, all of that is in this thread as it was before the first use of a driver within it.
// Costs next to nothing where none is used.
class Visit {
 public:
  Visit() = default;
  ~Visit() {
    if (stay.with != nullptr) [[unlikely]]
      end();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // Whether all uses of drivers are within one: else whatever is current stays so.
  static void expect(bool so) { expected = so; }
  // A driver says so before it changes anything of its. A visit is to one driver.
  static void begin(const Visited& driver) {
    if (!expected || stay.with != nullptr) return;
    stay.with = &driver;
    driver.enter(stay.habits);
  }

 private:
  [[gnu::noinline]] static void end() {
    stay.with->leave(stay.habits);
    stay.with = nullptr;
  }

  static inline bool expected = false;
  [[gnu::tls_model("initial-exec")]] static inline thread_local constinit Visited::Stay stay{};
};

}  // namespace nearpeak
