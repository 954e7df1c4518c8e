// SPDX-License-Identifier: Apache-2.0
// What this thread is at, looked at again and again: what no call tells, as a library that copies
// or waits by its own instructions.
#pragma once

#include <csignal>

namespace nearpeak::explain {

// The calling thread, which marks, begins a sample: whether it is looked at in this one. It is in
// every other, or, of short ones, for a ms at a time.
bool looks_at_sample();
// The sample ends; the same answer.
bool ends_sample();

// While it exists the calling thread is not looked at: calls that wait would end early, with EINTR
// (signal(7): "never restarted after being interrupted by a signal handler").
class Undisturbed {
 public:
  Undisturbed();
  ~Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  bool holds_;
  sigset_t before_;
};

// The signals that such a call shall let in meanwhile (null: as before), without that of samples.
class LetIn {
 public:
  explicit LetIn(const sigset_t* signals);
  operator const sigset_t*() const { return given_ ? &set_ : nullptr; }

 private:
  bool given_;
  sigset_t set_;
};

// Names what was found since: before a library that is at work is closed.
void name_samples();

}  // namespace nearpeak::explain
