// SPDX-License-Identifier: Apache-2.0
// What becomes of the errors that MPI calls return: by default they end the job, with words of the
// library's own.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>

namespace nearpeak {

// From now on `refused` is called with the library's words for an error of this rank, and then the
// job ends. For the life of the program.
void on_error(MPI_Comm comm, std::function<void(const std::string& words)> refused);

// The same for calls on a window, which has a handler of its own. Nothing where on_error() was not
// called.
void watch_errors(MPI_Win window);

// Errors of MPI calls as their results, while it lives: calls without a communicator raise them on
// MPI_COMM_WORLD, and since MPI 4 on MPI_COMM_SELF.
class ErrorsReturned {
 public:
  ErrorsReturned() {
    for (std::size_t i = 0; i < comms_.size(); ++i) {
      MPI_Comm_get_errhandler(comms_[i], &before_[i]);
      MPI_Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
    }
  }
  ~ErrorsReturned() {
    for (std::size_t i = 0; i < comms_.size(); ++i) {
      MPI_Comm_set_errhandler(comms_[i], before_[i]);
      MPI_Errhandler_free(&before_[i]);
    }
  }
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;

 private:
  const std::array<MPI_Comm, 2> comms_{MPI_COMM_WORLD, MPI_COMM_SELF};
  std::array<MPI_Errhandler, 2> before_{};
};

// The library's own words, in one line.
std::string error_text(int error);

}  // namespace nearpeak
