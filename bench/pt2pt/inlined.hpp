// SPDX-License-Identifier: Apache-2.0
// The transports of this program whose messages are so short that a virtual call would be seen:
// benchmarks know them when they are compiled.
#pragma once

#if defined(NEARPEAK_WITH_MPI)
#include "transport/mpi/direct.hpp"
#include "transport/mpi/persistent.hpp"
#else
#include "transport/host/flag.hpp"
#include "transport/host/pull.hpp"
#endif

namespace nearpeak {

template <class... Some>
struct Types {};

#if defined(NEARPEAK_WITH_MPI)
using Inlined = Types<DirectTransport, PersistentTransport>;
#else
using Inlined = Types<FlagTransport, PullTransport<Mapped> >;
#endif

}  // namespace nearpeak
