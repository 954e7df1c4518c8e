// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/file_server.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

// A process that serves until it is killed.
struct Served {
  Served() {
    std::array<int, 2> answers{}, orders{};
    REQUIRE(pipe2(answers.data(), O_CLOEXEC) == 0);
    REQUIRE(pipe2(orders.data(), O_CLOEXEC) == 0);
    process = fork();
    if (process == 0) serve(orders[0], answers[1]);
    close(orders[0]);
    close(answers[1]);
    answer = File(answers[0]);
    order = File(orders[1]);
    REQUIRE(read(answer.number(), &doors, sizeof(doors)) == sizeof(doors));
  }
  ~Served() {
    end();
    if (child > 0) kill(child, SIGKILL);
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  [[noreturn]] static void serve(int orders, int answers) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const FileServer server({});
    if (write(answers, &server.doors(), sizeof(Doors)) != sizeof(Doors)) _exit(1);
    char byte = ' ';
    if (read(orders, &byte, 1) != 1) _exit(1);
    const pid_t forked = fork();
    if (forked == 0) alarm(60);
    if (forked > 0 && write(answers, &forked, sizeof(forked)) != sizeof(forked)) _exit(1);
    for (;;) pause();
  }
  // It has one from now on, which has all its files and outlives it.
  void fork_child() {
    REQUIRE(write(order.number(), "f", 1) == 1);
    REQUIRE(read(answer.number(), &child, sizeof(child)) == sizeof(child));
  }
  void end() {
    if (process <= 0) return;
    kill(process, SIGKILL);
    waitpid(std::exchange(process, 0), nullptr, 0);
  }
  // It stops for so long, or until it is waited for.
  void stop_for(std::chrono::milliseconds time) {
    kill(process, SIGSTOP);
    int status = 0;
    waitpid(process, &status, WUNTRACED);
    goes_on = std::async(std::launch::async, [this, time] {
      std::this_thread::sleep_for(time);
      kill(process, SIGCONT);
    });
  }
  pid_t process = 0;
  pid_t child = 0;
  File answer, order;
  Doors doors;
  std::future<void> goes_on;
};

// As a profiler does, which need not let calls begin anew.
struct Alarms {
  Alarms() {
    struct sigaction counts{};
    counts.sa_handler = [](int) { seen = seen + 1; };
    sigaction(SIGALRM, &counts, &before);
    const itimerval often{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Alarms() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before, nullptr);
  }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;
  static inline volatile std::sig_atomic_t seen = 0;
  struct sigaction before{};
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
  const mode_t before = umask(0);  // so that all may connect
  FileServer open({folder.name});
  umask(before);
  CHECK(in_another([&] {
    NotMet why{};
    return setuid(kOther) == 0 && meet(without_name(open.doors()), why) == nullptr &&
           why == NotMet::kOtherUser;
  }));
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

TEST_CASE("file server: signals interrupt no question") {
  Served served;
  NotMet why{};
  const auto met = meet(served.doors, why);
  REQUIRE(met != nullptr);
  served.stop_for(std::chrono::milliseconds(200));
  CHECK_FALSE(met->has_ended());
  const Alarms alarms;
  const int before = Alarms::seen;
  CHECK(static_cast<bool>(met->file(0)));
  CHECK(Alarms::seen - before > 1);
  CHECK_FALSE(met->has_ended());
  CHECK(meet(served.doors, why) != nullptr);
}

TEST_CASE("file server: it serves and ends where the limit of files is lowered") {
  CHECK(in_another([] {
    alarm(20);
    auto server = std::make_unique<FileServer>(std::vector<std::string>{});
    NotMet why{};
    const auto met = meet(server->doors(), why);
    if (!met->file(0)) return false;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 1;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    const bool answered = !met->file(1 << 20) && errno == EBADF;
    server->close_doors();
    server.reset();
    return answered;
  }));
}

TEST_CASE("file server: who is met is seen to end, and one that only serves no more is not") {
  auto server = std::make_unique<FileServer>(std::vector<std::string>{});
  NotMet why{};
  const auto met = meet(server->doors(), why);
  REQUIRE(met != nullptr);
  met->watch();
  server.reset();
  CHECK(met->has_ended() == !open_process(getpid()));
  CHECK_FALSE(static_cast<bool>(met->file(0)));
  Served served;
  const auto watched = meet(served.doors, why);
  const auto other = meet(served.doors, why);
  REQUIRE(watched != nullptr);
  REQUIRE(other != nullptr);
  watched->watch();
  CHECK_FALSE(watched->has_ended());
  CHECK_FALSE(other->has_ended());
  served.end();
  CHECK(watched->has_ended());
  CHECK(other->has_ended());
}

TEST_CASE("file server: a process is seen to end whose children live on") {
  if (!open_process(getpid())) return;  // a kernel before 5.3
  Served served;
  NotMet why{};
  const auto met = meet(served.doors, why);
  REQUIRE(met != nullptr);
  met->watch();
  served.fork_child();
  CHECK_FALSE(met->has_ended());
  served.end();
  CHECK(met->has_ended());
}

}  // namespace nearpeak::layer
