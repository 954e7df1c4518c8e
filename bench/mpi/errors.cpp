// SPDX-License-Identifier: Apache-2.0
#include "mpi/errors.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "options/options.hpp"

namespace nearpeak {
namespace {

std::function<void(const std::string&)>& refused_to() {
  static std::function<void(const std::string&)> function;
  return function;
}

std::string words_of(int error) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(error, words, &length) != MPI_SUCCESS) words[0] = '\0';
  return words[0] != '\0' ? words : "error " + std::to_string(error);
}

[[noreturn]] void end_with(int error) {
  const std::string text = words_of(error);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string told = "rank " + std::to_string(rank) + ": MPI returned " + text;
  refused_to()(told);
  std::cerr << "nearpeak-mpi: " + told + "\n" << std::flush;
  // Launchers forward what was said only while the job lives.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  MPI_Abort(MPI_COMM_WORLD, kFailed);
  std::_Exit(kFailed);  // MPICH's comes back, and its launcher ends the process a little later
}

void of_communicator(MPI_Comm*, int* error, ...) { end_with(*error); }
void of_window(MPI_Win*, int* error, ...) { end_with(*error); }

}  // namespace

void on_error(MPI_Comm comm, std::function<void(const std::string& words)> refused) {
  refused_to() = std::move(refused);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(of_communicator, &handler);
  // Calls without a communicator raise theirs on these.
  for (MPI_Comm each : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
    MPI_Comm_set_errhandler(each, handler);
  MPI_Errhandler_free(&handler);
}

std::string error_text(int error) {
  const std::string words = words_of(error);
  return words.substr(0, words.find('\n'));
}

void watch_errors(MPI_Win window) {
  if (!refused_to()) return;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(of_window, &handler);
  MPI_Win_set_errhandler(window, handler);
  MPI_Errhandler_free(&handler);
}

}  // namespace nearpeak
