// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/file_server.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

namespace nearpeak::layer {
namespace {

constexpr uid_t kOther = 12346;

std::string text_of(const auto& field) { return field.data(); }

bool is_there(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0;
}

struct Folder {
  Folder() { REQUIRE(mkdtemp(name.data()) != nullptr); }
  ~Folder() { rmdir(name.c_str()); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string name = "/tmp/file-server-XXXXXX";
};

// What another process finds, which has nothing of this one but the doors.
bool in_another(const std::function<bool()>& holds) {
  const pid_t child = fork();
  if (child == 0) _exit(holds() ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

bool is_met(const Doors& doors) {
  NotMet why{};
  const auto met = meet(doors, why);
  return met != nullptr && static_cast<bool>(met->file(0));
}

Doors without_paths(Doors doors) {
  doors.paths = {};
  return doors;
}

Doors without_name(Doors doors) {
  doors.name = {};
  return doors;
}

}  // namespace

TEST_CASE("file server: another process reads and writes memory and files by either door") {
  const Folder folder;
  FileServer server({folder.name});
  std::array<char, 100000> memory{};
  std::strcpy(memory.data() + 99990, "before");
  std::array<int, 2> ends{};
  REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
  for (const Doors& doors : {without_paths(server.doors()), without_name(server.doors())}) {
    CHECK(in_another([&] {
      NotMet why{};
      const auto met = meet(doors, why);
      if (!met || why != NotMet::kNot || met->has_number() || met->has_ended()) return false;
      std::memset(memory.data(), 'x', memory.size());  // its own copy
      std::array<char, 100000> read{};
      met->read(read.data(), memory.data(), read.size());
      met->write(memory.data(), "after", 6);
      const File file = met->file(ends[1]);
      const bool none = !met->file(1 << 20) && errno == EBADF;
      return none && std::strcmp(read.data() + 99990, "before") == 0 &&
             write(file.number(), "y", 1) == 1;
    }));
    CHECK(std::strcmp(memory.data(), "after") == 0);
    char got = ' ';
    CHECK(read(ends[0], &got, 1) == 1);
    CHECK(got == 'y');
    memory[0] = '\0';
  }
  for (const int end : ends) close(end);
}

TEST_CASE("file server: memory that is not there is an error") {
  FileServer server({});
  NotMet why{};
  const auto met = meet(server.doors(), why);
  REQUIRE(met != nullptr);
  char byte = ' ';
  CHECK_THROWS_AS(met->read(&byte, nullptr, 1), std::system_error);
  CHECK_THROWS_AS(met->write(nullptr, &byte, 1), std::system_error);
  CHECK(can_read(*met, &byte, 1));
  CHECK_FALSE(can_read(*met, nullptr, 1));
}

TEST_CASE("file server: who has not the key gets nothing") {
  FileServer server({});
  CHECK(in_another([&] { return is_met(server.doors()); }));
  Doors wrong = server.doors();
  wrong.key[15] ^= 1;
  CHECK(in_another([&] { return !is_met(wrong); }));
}

TEST_CASE("file server: another user gets nothing, and takes nothing") {
  if (geteuid() != 0) return;  // only root acts as two
  const Folder folder;
  REQUIRE(chmod(folder.name.c_str(), 0777) == 0);
  FileServer server({folder.name});
  // Even who may open all files.
  for (const Doors& doors : {without_paths(server.doors()), without_name(server.doors())})
    for (const bool privileged : {false, true})
      CHECK(in_another([&] {
        if (privileged && prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) != 0) return false;
        if (setuid(kOther) != 0) return false;
        NotMet why{};
        return meet(doors, why) == nullptr && why == NotMet::kOtherUser;
      }));
  CHECK(is_met(server.doors()));
}

TEST_CASE("file server: closed doors let nobody in, and leave nothing; who is in stays") {
  const Folder folder;
  FileServer server({"/nowhere", folder.name});
  const std::string path = text_of(server.doors().paths[0]);
  CHECK(text_of(server.doors().paths[1]).empty());
  REQUIRE(is_there(path));
  NotMet why{};
  const auto met = meet(server.doors(), why);
  REQUIRE(met != nullptr);
  server.close_doors();
  CHECK_FALSE(is_there(path));
  CHECK(meet(server.doors(), why) == nullptr);
  CHECK(why == NotMet::kNowhere);
  CHECK(static_cast<bool>(met->file(0)));
}

TEST_CASE("file server: who is met is seen to end") {
  auto server = std::make_unique<FileServer>(std::vector<std::string>{});
  NotMet why{};
  const auto met = meet(server->doors(), why);
  REQUIRE(met != nullptr);
  CHECK_FALSE(met->has_ended());
  server.reset();
  CHECK(met->has_ended());
  CHECK_FALSE(static_cast<bool>(met->file(0)));
}

}  // namespace nearpeak::layer
