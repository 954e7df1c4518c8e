// SPDX-License-Identifier: Apache-2.0
// The three ways to call a collective operation. An operation is handed one of them, and hands it
// its three functions and what these have in common:
//   calls(MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, buffer, count, MPI_BYTE, root)
#pragma once

#include <mpi.h>

#include "collective/persistent.hpp"

namespace nearpeak {

struct Blocking {
  MPI_Comm comm;

  template <class Call, class Begin, class Init, class... Arguments>
  void operator()(Call call, Begin, Init, Arguments... arguments) const {
    call(arguments..., comm);
  }
};

// Begun, and waited for by whoever has the request.
struct Begin {
  MPI_Comm comm;
  MPI_Request& request;

  template <class Call, class Start, class Init, class... Arguments>
  void operator()(Call, Start start, Init, Arguments... arguments) const {
    start(arguments..., comm, &request);
  }
};

// Begun, and waited for at once.
struct Nonblocking {
  MPI_Comm comm;

  template <class Call, class Begin, class Init, class... Arguments>
  void operator()(Call, Begin begin, Init, Arguments... arguments) const {
    MPI_Request request = MPI_REQUEST_NULL;
    begin(arguments..., comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

// Makes the request of a persistent operation.
struct Initialise {
  MPI_Comm comm;
  MPI_Request& request;

  template <class Call, class Begin, class Init, class... Arguments>
  void operator()(Call, Begin, Init init, Arguments... arguments) const {
    init(arguments..., comm, MPI_INFO_NULL, &request);
  }
};

// Whether the library that was loaded has the persistent operation; calls nothing.
struct AskPersistent {
  bool there = false;

  template <class Call, class Begin, class Init, class... Arguments>
  void operator()(Call, Begin, Init init, Arguments...) {
    there = init != nullptr;
  }
};

}  // namespace nearpeak
