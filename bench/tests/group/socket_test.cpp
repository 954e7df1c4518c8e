// SPDX-License-Identifier: Apache-2.0
#include "group/socket.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <fstream>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include "group/cpu_distances.hpp"
#include "group/siphash.hpp"
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
        3, 3,
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
  CHECK(others_fail([] { sleep(6); }) == "another rank has fallen silent");
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

TEST_CASE("SipHash-2-4 gives the numbers of its authors") {
  HashKey key;
  std::array<unsigned char, 15> text;
  std::iota(key.begin(), key.end(), static_cast<unsigned char>(0));
  std::iota(text.begin(), text.end(), static_cast<unsigned char>(0));
  CHECK(siphash(key, text.data(), text.size()) == 0xa129ca6149be45e5);
  CHECK(siphash(key, text.data(), 0) == 0x726fdb47dd0e0e31);
}

namespace {

Socket stranger_at(int port) {
  Socket stranger(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connect(stranger.file(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  return stranger;
}

// The greeting of a member that is missing, without the proof.
std::string hello_of(std::uint32_t index) {
  std::string hello = "nearpeak-tcp";
  hello.append(reinterpret_cast<const char*>(&index), sizeof index);
  return hello + "12345678";
}

// Strangers come to a port, and two members meet there all the same; how many have come.
std::size_t meet_after(const std::function<void(std::vector<Socket>&, int port)>& come) {
  const Socket listener = listen_on("127.0.0.1", 0);
  const int port = port_of(listener);
  std::vector<Socket> strangers;
  std::thread other([&] {
    come(strangers, port);
    SocketGroup("127.0.0.1", port, 1, 2, 30).barrier();
  });
  SocketGroup group(listener, 2, 30);
  group.barrier();
  other.join();
  CHECK(group.size() == 2);
  return strangers.size();
}

}  // namespace

TEST_CASE("strangers that say nothing, or little, or too much, keep nobody from meeting") {
  const std::size_t come = meet_after([](std::vector<Socket>& strangers, int port) {
    for (int i = 0; i < 100; ++i) strangers.push_back(stranger_at(port));  // and silent
    strangers.push_back(stranger_at(port));
    send_all(strangers.back().file(), "near", 4);
    strangers.push_back(stranger_at(port));
    const std::string much(1 << 12, 'x');
    send_all(strangers.back().file(), much.data(), much.size());
    strangers.push_back(stranger_at(port));  // who knows what is said, and not the key
    const std::string hello = hello_of(1) + "87654321";
    send_all(strangers.back().file(), hello.data(), hello.size());
  });
  CHECK(come == 103);
}

TEST_CASE("strangers that greet almost as members do keep nobody from meeting") {
  std::mt19937 chance(1);
  const auto below = [&chance](std::size_t end) { return chance() % end; };
  for (int round = 0; round < 5; ++round) {
    const std::size_t come = meet_after([&](std::vector<Socket>& strangers, int port) {
      for (int i = 0; i < 40; ++i) {
        std::string hello = hello_of(static_cast<std::uint32_t>(below(3))) + "87654321";
        for (std::size_t changes = below(6); changes > 0; --changes)
          hello[below(hello.size())] = static_cast<char>(chance());
        if (below(2) == 0) hello.resize(below(2 * hello.size()));
        strangers.push_back(stranger_at(port));
        send_all(strangers.back().file(), hello.data(), hello.size());
      }
    });
    CHECK(come == 40);
  }
}

TEST_CASE("who does not know the token of the launch is no member, on either side") {
  const Socket listener = listen_on("127.0.0.1", 0);
  const int port = port_of(listener);
  const RecordFile said;
  const pid_t stranger = start_process(
      [&]() -> int {
        setenv("NEARPEAK_TOKEN", "000102030405060708090a0b0c0d0e0f", 1);
        try {
          SocketGroup group("127.0.0.1", port, 1, 2, 30);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "%s\n", error.what());
          return kFailed;
        }
        return kGood;
      },
      said.path());
  const pid_t leader = start_process(
      [&]() -> int {
        setenv("NEARPEAK_TOKEN", "0f0e0d0c0b0a09080706050403020100", 1);
        SocketGroup group(listener, 2, 30);  // waits for the right one
        return kGood;
      },
      "/dev/null");
  CHECK(await_process(stranger) == kFailed);
  const std::string expected =
      "127.0.0.1, port " + std::to_string(port) + " is not another nearpeak-native of this launch";
  CHECK(first_line(said.path()) == expected);
  kill(leader, SIGKILL);
  await_process(leader);
}

TEST_CASE("rank 0 listens on the address that it is called by, where that is its own") {
  std::vector<std::string> peers{"127.0.0.1", "localhost", "127.0.0.2"};
  try {
    listen_on("::1", 0);
    peers.emplace_back("::1");
  } catch (const BadInput&) {  // a machine without IPv6
  }
  for (const std::string& peer : peers) {
    const Socket listener = listen_as(peer, 0);
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    REQUIRE(getsockname(listener.file(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    if (address.ss_family == AF_INET6)
      CHECK(IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr) != 0);
    else
      CHECK((ntohl(reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr) >> 24) == 127);
  }
}

TEST_CASE("members that meet over a network tell each other of no files") {
  for (const int status : meet(2, 30, [](SocketGroup& group) {
         return CpuDistances(group).measure() == std::vector<std::optional<double>>(1) ? kGood
                                                                                       : kFailed;
       }))
    CHECK(status == kGood);
}

TEST_CASE("a text of a length that is not believable is refused") {
  const auto statuses = meet(2, 30, [](SocketGroup& group) -> int {
    if (group.leads()) {
      group.gather(std::string("short"));
      return kGood;
    }
    group.gather<std::size_t>(std::size_t{1} << 40);  // the length alone
    return kGood;
  });
  CHECK(statuses[0] == kFailed);
}

TEST_CASE("strangers are not taken for another rank") {
  const Socket listener = listen_on("127.0.0.1", 0);
  const int port = port_of(listener);
  std::thread others([port] {
    const Socket stranger = stranger_at(port);
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
