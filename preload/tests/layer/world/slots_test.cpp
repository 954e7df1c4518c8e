// SPDX-License-Identifier: Apache-2.0
#include "layer/world/slots.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <system_error>

namespace nearpeak::layer {
namespace {

constexpr Key kKey{1, 2, 3};

}  // namespace

TEST_CASE("slots: another process sees what this one writes, and answers") {
  const Area own;
  own.header().key = kKey;
  Slot& slot = own.slot(kSlots - 1);
  CHECK(slot.state.load() == State::kFree);
  slot.bytes = 1234;
  slot.state.store(State::kOffered);
  std::strcpy(own.place(kPlaces - 1, 6), "short");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    // By its name alone, as a rank that was not forked.
    const Area theirs(*process_of(parent), own.fd(), kKey);
    Slot& seen = theirs.slot(kSlots - 1);
    State expected = State::kOffered;
    const bool good = &seen != &slot && seen.bytes == 1234 &&
                      std::strcmp(theirs.place(kPlaces - 1, 6), "short") == 0 &&
                      seen.state.compare_exchange_strong(expected, State::kTaken);
    if (good) seen.state.store(State::kDone);
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(slot.state.load() == State::kDone);
  CHECK(own.place(kPlaces, 6) == nullptr);
  CHECK(own.place(0, kPlaceBytes + 1) == nullptr);
}

TEST_CASE("slots: what is no memory of another process, or too short, is an error") {
  const auto self = process_of(getpid());
  CHECK_THROWS_AS(Shared(*self, 999999, 100), std::system_error);
  const Shared own(4096);
  CHECK_NOTHROW(Shared(*self, own.fd(), 4096));
  CHECK_THROWS_AS(Shared(*self, own.fd(), 4097), std::system_error);
}

TEST_CASE("slots: the area of another rank than the one with the key is an error") {
  const Area own;
  own.header().key = kKey;
  const auto self = process_of(getpid());
  CHECK_NOTHROW(Area(*self, own.fd(), kKey));
  CHECK_THROWS_AS(Area(*self, own.fd(), Key{1, 2, 4}), std::system_error);
}

TEST_CASE("slots: an index beyond the last one is an error, and leads nowhere") {
  const Area own;
  CHECK_THROWS_AS(own.slot(kSlots), std::out_of_range);
  CHECK_THROWS_AS(own.slot(~std::uint32_t{0}), std::out_of_range);
  CHECK_THROWS_AS(own.seat(kSeats), std::out_of_range);
}

TEST_CASE("slots: all can be taken, and those given back are taken first") {
  FreeSlots slots;
  bool in_order = true;
  for (std::uint32_t i = 0; i < kSlots; ++i) in_order = slots.take() == i && in_order;
  CHECK(in_order);
  CHECK(slots.take() == FreeSlots::kNone);
  slots.give(77);
  CHECK(slots.take() == 77);
  CHECK(slots.take() == FreeSlots::kNone);
}

TEST_CASE("slots: one that ends while it combines keeps nobody waiting") {
  const Area own;
  own.header().key = kKey;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    const Area theirs(*process_of(parent), own.fd(), kKey);
    new Combining(theirs.header());
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  for (int i = 0; i < 2; ++i) const Combining again(own.header());
}

}  // namespace nearpeak::layer
