// SPDX-License-Identifier: Apache-2.0
// A text that is made while this thread does something else.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <thread>

namespace nearpeak {

class Background {
 public:
  // In a thread of its own: signals are not its affair, and it leaves the CPUs of this one to it
  // where it may use others.
  explicit Background(std::function<std::string()> make);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Whether it is made, or has failed. Never in a process that was forked meanwhile, where nobody
  // makes it.
  bool ready() const { return ready_.load(std::memory_order_acquire); }
  // Waits for it. Throws what `make` has thrown.
  const std::string& get();

  // A program that ends waits for all that is being made before the libraries end that are loaded
  // by now. `make` calls it when it has loaded one.
  static void outlives_libraries();
  // The same now. A library may end by what it has registered while it worked, before that: who
  // knows that the program ends soon calls this.
  static void wait_for_all();

 private:
  void run();
  void wait();

  const std::function<std::string()> make_;
  const pid_t process_;
  std::string made_;
  std::exception_ptr error_;
  std::atomic<bool> ready_{false};
  std::thread thread_;
};

}  // namespace nearpeak
