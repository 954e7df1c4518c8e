// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/own_memory.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

namespace nearpeak::layer {
namespace {

int data = 1;
int zeroes[100];

}  // namespace

TEST_CASE("own memory: the program's data, its heap up to the break, and the first stack") {
  void* const at_break = sbrk(4096);  // the heap begins with it, if it had not
  REQUIRE(at_break != reinterpret_cast<void*>(-1));
  OwnMemory own;
  CHECK_FALSE(own.has(&data));
  own.find();
  CHECK(own.has(&data));
  CHECK(own.has(zeroes + 99));
  CHECK(own.has(at_break));
  CHECK(own.has(static_cast<char*>(at_break) + 4095));
  CHECK_FALSE(own.has(sbrk(0)));
  CHECK(own.has(environ[0]));  // at the stack's begin
  CHECK_FALSE(own.has(nullptr));
}

TEST_CASE("own memory: the heap's end moves, and what is mapped is not known") {
  REQUIRE(sbrk(4096) != reinterpret_cast<void*>(-1));
  OwnMemory own;
  own.find();
  // Nothing between allocates: that may move the break, too.
  char* const before = static_cast<char*>(sbrk(0));
  const bool behind = own.has(before);
  void* const grown = sbrk(4096);
  const bool within = own.has(before);
  void* const shrunk = sbrk(-4096);
  const bool again_behind = own.has(before);
  CHECK(grown == before);
  CHECK(shrunk != reinterpret_cast<void*>(-1));
  CHECK_FALSE(behind);
  CHECK(within);
  CHECK_FALSE(again_behind);
  void* const mapped = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  CHECK_FALSE(own.has(mapped));
  munmap(mapped, 4096);
  bool on_stack_of_thread = true;
  std::thread([&] {
    const int local = 0;
    on_stack_of_thread = own.has(&local);
  }).join();
  CHECK_FALSE(on_stack_of_thread);
}

}  // namespace nearpeak::layer
