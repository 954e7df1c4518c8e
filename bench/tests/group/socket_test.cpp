// SPDX-License-Identifier: Apache-2.0
#include "group/socket.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "tests/group/groups.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

// Starts `size` processes that meet over TCP, the leader last; their exit statuses, of the leader
// first. What they throw goes to `said`, as from main().
std::vector<int> meet(int size, double patience_s, const std::function<int(SocketGroup&)>& body,
                      const std::string& said = "/dev/null") {
  const Socket listener = listen_on("127.0.0.1", 0);
  std::vector<pid_t> children(static_cast<std::size_t>(size));
  for (int rank = size - 1; rank >= 0; --rank)
    children[static_cast<std::size_t>(rank)] = start_process(
        [&]() -> int {
          try {
            if (rank == 0) {
              SocketGroup group(listener, size, patience_s);
              return body(group);
            }
            SocketGroup group("127.0.0.1", port_of(listener), rank, size, patience_s);
            return body(group);
          } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
            return kFailed;
          }
        },
        rank == 0 ? said : "/dev/null");
  std::vector<int> statuses;
  for (const pid_t child : children) statuses.push_back(await_process(child));
  return statuses;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

TEST_CASE("processes meet over sockets") {
  for (const int size : {2, 3, 5})
    for (const int status : meet(size, 30, [&](SocketGroup& group) {
           return why_no_group(group, size).empty() ? kGood : kFailed;
         }))
      CHECK(status == kGood);
}

TEST_CASE("nobody leaves a barrier of sockets before all have come") {
  SharedMemory memory(sizeof(Counter));
  auto* come = new (memory.data()) Counter;
  for (const int status : meet(3, 30, [&](SocketGroup& group) {
         for (std::uint64_t i = 1; i <= 100; ++i) {
           if (i % 3 == static_cast<std::uint64_t>(group.rank())) usleep(100);
           ++come->value;
           group.barrier();
           if (come->told() < 3 * i) return kFailed;
           group.barrier();
         }
         return kGood;
       }))
    CHECK(status == kGood);
}

TEST_CASE("who dies, or falls silent, ends the others, with one line that says so") {
  const RecordFile said;
  const auto others_fail = [&](const std::function<void()>& end_of_one) {
    const auto statuses = meet(
        3, 0.3,
        [&](SocketGroup& group) -> int {
          if (group.rank() == 2) end_of_one();
          while (true) group.barrier();
        },
        said.path());
    CHECK(statuses[0] == kFailed);
    CHECK(statuses[1] == kFailed);
    return first_line(said.path());
  };
  CHECK(others_fail([] { raise(SIGKILL); }) == kConnectionClosed);
  CHECK(others_fail([] { usleep(600'000); }) == "another rank has fallen silent");
}

TEST_CASE("a connection that the other end has closed is told alike by all calls") {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const Socket mine(ends[0]);
  {
    const Socket other(ends[1]);
  }
  char byte = 0;
  CHECK_THROWS_WITH(send_all(mine.file(), &byte, 1), kConnectionClosed);  // EPIPE
  CHECK_THROWS_WITH(receive_all(mine.file(), &byte, 1), kConnectionClosed);
  errno = ECONNRESET;
  CHECK(std::string(stream_error("recv").what()) == kConnectionClosed);
}

TEST_CASE("strangers are not taken for another rank") {
  const Socket listener = listen_on("127.0.0.1", 0);
  const int port = port_of(listener);
  std::thread others([port] {
    const Socket stranger(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(stranger.file(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    const std::string text = "GET / HTTP/1.1\r\n\r\n";
    send_all(stranger.file(), text.data(), text.size());
    const auto right = connect_streams("127.0.0.1", port, {0, 65536}, 5);
    const char greeting = 'x';
    send_all(right[1].file(), &greeting, 1);
  });
  const auto all = accept_streams(listener, {0, 65536}, 5);
  char greeting = 0;
  receive_all(all[1].file(), &greeting, 1);
  CHECK(greeting == 'x');
  others.join();
  CHECK_THROWS_WITH(receive_all(all[0].file(), &greeting, 1), kConnectionClosed);
}
