// SPDX-License-Identifier: Apache-2.0
// What becomes of the errors that MPI calls return: by default they end the job, with words of the
// library's own.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

namespace nearpeak {

// From now on `refused` is called with the library's words for an error of this rank, and then the
// job ends. For the life of the program.
void on_error(MPI_Comm comm, std::function<void(const std::string& words)> refused);

// The same for calls on a window, which has a handler of its own. Nothing where on_error() was not
// called.
void watch_errors(MPI_Win window);

}  // namespace nearpeak
