// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// NVRTC, and PoCL with the LLVM within it, keep some memory of their own until the process ends.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libnvrtc\nleak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libOpenCL\n";
}

// A trap is undefined behaviour (CMakeLists.txt): 2, as doctest would take the signal itself. And
// the runtime of GCC up to 13 takes a thread's storage in a loaded library, where it begins 16
// bytes into a page, for that of an old glibc, and reads its size from what is before it: the
// search for leaks then crashes (google/sanitizers, issue 723).
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "handle_sigill=2:intercept_tls_get_addr=0";
}
