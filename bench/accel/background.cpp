// SPDX-License-Identifier: Apache-2.0
#include "accel/background.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "accel/quiet_thread.hpp"

namespace nearpeak {
namespace {

struct Unfinished {
  std::mutex mutex;
  std::vector<const Background*> all;
};
// Never destroyed: it is looked at while the program ends.
Unfinished& unfinished = *new Unfinished;

void take_other_cpus() {
  cpu_set_t mine, others;
  if (sched_getaffinity(0, sizeof(mine), &mine) != 0) return;
  std::memset(&others, 0xff, sizeof(others));
  CPU_XOR(&others, &others, &mine);
  sched_setaffinity(0, sizeof(others), &others);  // fails where there are none: then it stays
}

}  // namespace

// For those of this process: where it was forked, the threads of others are not there.
void Background::wait_for_all() {
  for (;; usleep(100)) {
    const std::lock_guard lock(unfinished.mutex);
    if (std::all_of(unfinished.all.begin(), unfinished.all.end(), [](const Background* each) {
          return each->ready() || each->process_ != getpid();
        }))
      return;
  }
}

void Background::outlives_libraries() { std::atexit(wait_for_all); }

Background::Background(std::function<std::string()> make)
    : make_(std::move(make)), process_(getpid()) {
  {
    const std::lock_guard lock(unfinished.mutex);
    unfinished.all.push_back(this);
  }
  outlives_libraries();
  try {
    thread_ = quiet_thread([this] { run(); });
  } catch (const std::exception&) {  // there are no more threads: at once, then
    run();
  }
}

Background::~Background() {
  wait();
  const std::lock_guard lock(unfinished.mutex);
  std::erase(unfinished.all, this);
}

void Background::run() {
  try {
    if (thread_.get_id() != std::thread::id()) take_other_cpus();
    made_ = make_();
  } catch (...) {
    error_ = std::current_exception();
  }
  ready_.store(true, std::memory_order_release);
}

void Background::wait() {
  if (!thread_.joinable()) return;
  if (getpid() == process_)
    thread_.join();
  else
    thread_.detach();
}

const std::string& Background::get() {
  wait();
  if (!ready()) throw std::runtime_error("what was being made when the process was forked is lost");
  if (error_) std::rethrow_exception(error_);
  return made_;
}

}  // namespace nearpeak
