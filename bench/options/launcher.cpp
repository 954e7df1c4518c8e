// SPDX-License-Identifier: Apache-2.0
#include "options/launcher.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <vector>

namespace nearpeak {
namespace {

namespace fs = std::filesystem;

constexpr int kMostAncestors = 16;  // shells and taskset may stand between a launcher and its rank

bool is_launcher(const fs::path& program) {
  const std::string name = program.filename();
  for (const char* const known : {"mpirun", "mpiexec", "orterun", "orted", "prte", "hydra"})
    if (name.find(known) != std::string::npos) return true;
  return false;
}

// 0 where it is not known. The name before it, in brackets, may hold anything (proc(5)).
int parent_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  const std::string stat = text.str();
  const auto end = stat.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream rest(stat.substr(end + 1));
  std::string state;
  int parent = 0;
  rest >> state >> parent;
  return parent;
}

// libmpi.so.40, libmpich.so.12: the names that programs look for.
bool is_soname(const std::string& name) {
  for (const std::string stem : {"libmpi.so.", "libmpich.so.", "libmpi_ibm.so."})
    if (name.starts_with(stem) && name.size() > stem.size())
      return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(stem.size()), name.end(),
                         [](unsigned char letter) { return std::isdigit(letter) != 0; });
  return false;
}

void add_libraries(const fs::path& folder, std::vector<fs::path>& found) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (is_soname(entry.path().filename()) && entry.exists(none)) found.push_back(entry.path());
}

std::vector<fs::path> libraries_of(const fs::path& prefix) {
  std::vector<fs::path> found;
  for (const char* const name : {"lib", "lib64", "lib/release"})
    add_libraries(prefix / name, found);
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", none))  // of Debian
    if (entry.path().filename().string().find("-linux-gnu") != std::string::npos)
      add_libraries(entry.path(), found);
  std::sort(found.begin(), found.end());
  return found;
}

bool same(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

bool names_folder_of(const std::string& search_path, const fs::path& library) {
  std::error_code none;
  const fs::path folders[] = {library.parent_path(), fs::canonical(library, none).parent_path()};
  std::istringstream parts(search_path);
  for (std::string part; std::getline(parts, part, ':');)
    for (const fs::path& folder : folders)
      if (!part.empty() && same(part, folder)) return true;
  return false;
}

}  // namespace

std::optional<std::filesystem::path> launcher() {
  int pid = getppid();
  for (int i = 0; i < kMostAncestors && pid > 1; ++i, pid = parent_of(pid)) {
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", failed);
    if (!failed && is_launcher(program)) return program;
  }
  return std::nullopt;
}

std::string not_of_launcher(const std::filesystem::path& launcher,
                            const std::filesystem::path& library, const std::string& version,
                            const std::string& search_path) {
  const auto installed = libraries_of(launcher.parent_path().parent_path());
  if (installed.empty() || names_folder_of(search_path, library)) return "";
  for (const fs::path& file : installed)
    if (same(file, library)) return "";
  // Versions lie side by side under the name that programs look for.
  const auto namesake = std::find_if(installed.begin(), installed.end(), [&](const fs::path& file) {
    return library.filename().string().starts_with(file.filename().string());
  });
  const bool has = namesake != installed.end();
  std::error_code none;
  const fs::path folder = fs::weakly_canonical(library.parent_path(), none);  // a run path has ..
  return launcher.string() + " brings " + (has ? *namesake : installed.front()).string() +
         ", but " + (folder / library.filename()).string() + " is loaded (" + version + "): " +
         (has ? "set LD_LIBRARY_PATH=" + namesake->parent_path().string() + " to measure that one, "
              : "start it with the launcher of this library, ") +
         "or put " + folder.string() + " into LD_LIBRARY_PATH if it is meant";
}

}  // namespace nearpeak
