// SPDX-License-Identifier: Apache-2.0
// Memory of another process of this machine and user, which need not do anything for it. Addresses
// are that process's own.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace nearpeak::layer {

// Throw std::system_error.
void read_from(pid_t process, void* to, const void* from, std::size_t bytes);
void write_to(pid_t process, void* to, const void* from, std::size_t bytes);
// Whether this process may read and write memory there of that kind.
bool can_read(pid_t process, const void* data, std::size_t bytes);
// Where the system lets a process choose who may: all of this user.
void let_others_reach();

}  // namespace nearpeak::layer
