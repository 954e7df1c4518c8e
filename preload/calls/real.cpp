// SPDX-License-Identifier: Apache-2.0
#include "calls/real.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "calls/lookup.hpp"

namespace nearpeak::calls {

namespace {

void* look_in(void* scope, const char* name) {
  if (void* const found = lookup()(scope, name)) return found;
  // Of a program that has loaded the MPI library itself, as an interpreter does.
  void* const library = dlopen(NEARPEAK_MPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : lookup()(library, name);
}

void* find_in(void* scope, const char* name) {
  if (void* const found = look_in(scope, name)) return found;
  std::fprintf(stderr, "nearpeak: the program called MPI, but %s has no %s\n", NEARPEAK_MPI_SONAME,
               name);
  std::abort();
}

}  // namespace

void* find(const char* name) { return find_in(RTLD_NEXT, name); }
void* find_if_there(const char* name) { return look_in(RTLD_NEXT, name); }
void* find_variable(const char* name) { return find_in(RTLD_DEFAULT, name); }

}  // namespace nearpeak::calls
