// SPDX-License-Identifier: Apache-2.0
#include "group/machine.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "group/host_memory.hpp"

using namespace nearpeak;
namespace fs = std::filesystem;

namespace {

// A machine of this host's name.
class Machine {
 public:
  Machine(const std::string& boot, const std::string& time) {
    std::string pattern = (fs::temp_directory_path() / "nearpeak-machine-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ + "/proc/sys/kernel/random");
    fs::create_directories(root_ + "/proc/self/ns");
    if (!boot.empty()) std::ofstream(root_ + "/proc/sys/kernel/random/boot_id") << boot << '\n';
    if (!time.empty()) fs::create_symlink(time, root_ + "/proc/self/ns/time");
  }
  ~Machine() { fs::remove_all(root_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  std::string key() const { return machine_key(root_); }
  std::string clock() const { return clock_key(root_); }

 private:
  std::string root_;
};

}  // namespace

TEST_CASE("the boot ID distinguishes machines of one name") {
  const Machine one("boot-1", "time:[1]");
  const Machine same("boot-1", "time:[1]");
  const Machine other("boot-2", "time:[1]");
  CHECK(one.key() == same.key());
  CHECK(one.clock() == same.clock());
  CHECK(one.key() != other.key());
  CHECK(one.clock() != other.clock());
}

TEST_CASE("a time namespace has a clock of its own on the same machine") {
  const Machine one("boot-1", "time:[1]");
  const Machine shifted("boot-1", "time:[2]");
  CHECK(one.key() == shifted.key());
  CHECK(one.clock() != shifted.clock());
}

TEST_CASE("the name identifies a machine whose boot ID cannot be read") {
  const Machine one("", "");
  const Machine other("", "");
  CHECK_FALSE(one.key().empty());
  CHECK(one.key() == other.key());
  CHECK(one.clock() == other.clock());
}

TEST_CASE("ranks share the memory of a machine, whatever its name is") {
  CHECK(host_hash() == std::hash<std::string>()(machine_key()));
}
