// SPDX-License-Identifier: Apache-2.0
// What a program says on its standard output.
#pragma once

namespace nearpeak {

// Ends what was printed, by printf or std::cout. Throws std::runtime_error if some of it could not
// be written: who reads a file that is cut off would take it for the whole.
void finish_output();

}  // namespace nearpeak
