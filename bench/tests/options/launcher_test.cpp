// SPDX-License-Identifier: Apache-2.0
#include "options/launcher.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

using namespace nearpeak;
namespace fs = std::filesystem;

namespace {

// Two installations of a library of one name, the first as Debian has them, with a launcher each.
struct Installed {
  fs::path root;
  fs::path launcher, library;
  fs::path other;

  Installed() {
    char name[] = "/tmp/nearpeak-launcher-XXXXXX";
    root = mkdtemp(name);
    launcher = root / "usr/bin/orterun";
    library = root / "usr/lib/x86_64-linux-gnu/libmpi.so.40";
    const fs::path real = root / "usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40.30.4";
    other = root / "opt/ompi/lib/libmpi.so.40";
    for (const fs::path& file : {launcher, real, other}) {
      fs::create_directories(file.parent_path());
      std::ofstream(file) << file;
    }
    fs::create_symlink(real, library);
  }
  ~Installed() { fs::remove_all(root); }
};

}  // namespace

TEST_CASE("a library that was not installed with the launcher is refused") {
  const Installed there;
  const std::string said = not_of_launcher(there.launcher, there.other, "Open MPI v5", "");
  CHECK(said.find(there.launcher.string() + " brings " + there.library.string() + ", but " +
                  there.other.string() + " is loaded (Open MPI v5): set LD_LIBRARY_PATH=" +
                  there.library.parent_path().string() + " to measure") == 0);
}

TEST_CASE("a library is the launcher's own by whatever name") {
  const Installed there;
  CHECK(not_of_launcher(there.launcher, there.library, "", "").empty());
  CHECK(not_of_launcher(there.launcher, fs::canonical(there.library), "", "").empty());
}

TEST_CASE("a library of another name is started with its own launcher") {
  const Installed there;
  const fs::path mpich = there.root / "opt/mpich/lib/libmpi.so.12";
  const std::string said = not_of_launcher(there.launcher, mpich, "MPICH", "");
  CHECK(said.find("start it with the launcher of this library") != std::string::npos);
}

TEST_CASE("what LD_LIBRARY_PATH names was chosen") {
  const Installed there;
  const std::string folder = there.other.parent_path();
  CHECK(not_of_launcher(there.launcher, there.other, "", "/nosuch:" + folder).empty());
  CHECK(not_of_launcher(there.launcher, there.other, "", folder + "/").empty());
  CHECK(!not_of_launcher(there.launcher, there.other, "", "/nosuch::").empty());
}

TEST_CASE("a launcher that brings no library tells nothing") {
  const Installed there;
  CHECK(not_of_launcher(there.root / "slurm/bin/mpiexec", there.other, "", "").empty());
}

TEST_CASE("a test is started by no launcher") { CHECK(!launcher()); }
