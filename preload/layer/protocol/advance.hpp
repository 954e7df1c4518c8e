// SPDX-License-Identifier: Apache-2.0
// What goes on while this rank is in MPI, whatever it waits for. Who calls holds the guard, but for
// Waiting.
#pragma once

#include "layer/protocol/operations.hpp"
#include "layer/protocol/pause.hpp"

namespace nearpeak::layer {

// Whether somebody waits for what advance() does.
bool busy();
// Takes envelopes that came, and notes sends that were taken: a part of all that there are. Copies
// are under way then only while somebody is Waiting.
void advance();
// The same for a receive that somebody asks after, of a message from another node.
void advance_asked(PostedReceive& receive);
// From now on advance() calls it too, until it returns false: nothing is left for it.
void advance_with(bool (*more)());
// Lets the MPI library go on with messages of this rank. Who waits for others by shared memory
// calls it now and then, as they may wait for such a message before they come to that.
void progress();
// While a thread waits in the MPI library, and does not go on with what this rank has begun. Other
// threads begin no collective meanwhile that this rank would have to go on with.
class InLibrary {
 public:
  InLibrary() = default;
  ~InLibrary();
  InLibrary(const InLibrary&) = delete;
  InLibrary& operator=(const InLibrary&) = delete;

  // Who calls holds the guard; the end takes it.
  void begin();

 private:
  bool begun_ = false;
};
bool is_in_library();

// What is under way when the application ends.
void finish_all();

// Who calls advance() again and again: copies may be under way between. When it ends they are done,
// as their senders would wait for ever for an application that does something else.
class Waiting {
 public:
  Waiting();
  ~Waiting() { end(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  void operator()() { pause_(); }
  // Before the MPI library waits.
  void end();

 private:
  Pause pause_;
  bool ended_ = false;
};

}  // namespace nearpeak::layer
