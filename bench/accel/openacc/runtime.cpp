// SPDX-License-Identifier: Apache-2.0
#include "accel/openacc/runtime.hpp"

#include "accel/library.hpp"

namespace nearpeak::openacc {

Runtime load_runtime() {
  const Library library("NEARPEAK_OPENACC_LIBRARY", {"libgomp.so.1"});
  Runtime runtime;
#define NEARPEAK_NEED(symbol, ...)            \
  if (!library.find(runtime.symbol, #symbol)) \
    throw BackendUnavailable(library.name() + " has no OpenACC: it lacks " #symbol);
  NEARPEAK_OPENACC_FUNCTIONS(NEARPEAK_NEED)
#undef NEARPEAK_NEED
  return runtime;
}

}  // namespace nearpeak::openacc
