// SPDX-License-Identifier: Apache-2.0
// Which launcher of MPI started this process, and whether the library that is loaded is its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace nearpeak {

// The executable of the nearest ancestor that is a launcher of MPI. Nothing where none can be seen:
// from a container, or where the scheduler's own daemon starts the ranks.
std::optional<std::filesystem::path> launcher();

// What to say where `library`, the file that was loaded and that calls itself `version`, is none of
// those that were installed with the launcher. Empty where it is; where none was installed with it;
// and where `search_path`, which is LD_LIBRARY_PATH, names the library's folder: somebody chose it.
std::string not_of_launcher(const std::filesystem::path& launcher,
                            const std::filesystem::path& library, const std::string& version,
                            const std::string& search_path);

}  // namespace nearpeak
