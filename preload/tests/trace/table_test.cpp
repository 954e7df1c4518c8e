// SPDX-License-Identifier: Apache-2.0
#include "trace/table.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace nearpeak::trace {
namespace {

struct Left {
  Header header;
  std::vector<Section> sections;
};

Left read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string data{std::istreambuf_iterator<char>(file), {}};
  Left left{};
  REQUIRE(data.size() >= sizeof left.header);
  std::memcpy(&left.header, data.data(), sizeof left.header);
  std::size_t bytes = 0;
  for (std::size_t at = left.header.header_bytes; at + sizeof(Section) <= data.size();
       at += bytes) {
    left.sections.emplace_back();
    std::memcpy(&left.sections.back(), data.data() + at, sizeof(Section));
    bytes = left.sections.back().bytes;
    REQUIRE(bytes > 0);
  }
  return left;
}

}  // namespace

TEST_CASE("table: as many cells as there are kinds of calls, those of a thread are its own") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("nearpeak-table-test-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  setenv("NEARPEAK_TRACE", folder.c_str(), 1);
  setenv("PMI_SIZE", "9", 1);
  const int send = operation("MPI_Send", false), isend = operation("MPI_Isend", true);
  CHECK(operation("MPI_Send", false) == send);
  CHECK_FALSE(counting());
  const std::uint64_t from = ticks();
  begin(3, 8);
  CHECK(counting());
  constexpr int kPeers = 3000;
  const auto call_all = [&] {
    for (int round = 0; round < 2; ++round)
      for (int peer = kUnknown; peer < kPeers; ++peer)
        add({peer % 2 == 0 ? send : isend, 0, 100, false, peer}, 5, 77);
  };
  std::thread other(call_all);
  call_all();
  other.join();
  add({send, isend, std::int64_t{5} << 40, true, kNobody}, 9, 78);
  add({isend, 0, 300, false, kNull}, 9, 78);
  add({0, 0, 1, false, 0}, 1, 1);  // no operation
  end();
  CHECK_FALSE(counting());
  add({send, 0, 100, false, 0}, 5, 79);
  // Again, in the same file: what is between is no time of the run.
  const int bcast = operation("MPI_Bcast", false);
  const std::uint64_t ended = ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::uint64_t between = ticks() - ended;
  begin(3, 8);
  CHECK(counting());
  add({bcast, 0, 100, false, kNobody}, 5, 80);
  end();
  CHECK_FALSE(counting());
  const std::uint64_t since = ticks() - from;
  unsetenv("NEARPEAK_TRACE");
  unsetenv("PMI_SIZE");

  const std::filesystem::directory_iterator files(folder);
  CHECK(std::distance(begin(files), end(files)) == 1);
  const auto path = std::filesystem::directory_iterator(folder)->path();
  const Left left = read(path);
  CHECK(std::string(left.header.magic) == "NPTRAC2");
  CHECK(left.header.rank == 3);
  CHECK(left.header.ranks == 8);
  CHECK(left.header.launched == 9);
  CHECK(left.header.lost == 1);
  CHECK(left.header.finalized > left.header.begun);
  CHECK(left.header.finalized - left.header.begun <= since - between);
  CHECK(std::string(left.header.names[bcast].text) == "MPI_Bcast");
  CHECK(std::string(left.header.names[isend].text) == "MPI_Isend");
  CHECK(left.header.names[isend].begins == 1);
  std::set<std::uint64_t> threads;
  std::uint64_t calls = 0, bytes = 0, large = 0, null = 0, again = 0;
  std::set<std::uint64_t> keys[2];
  for (const Section& section : left.sections) {
    threads.insert(section.thread);
    for (const Cell& cell : section.cells) {
      if (cell.count == 0) continue;
      CHECK(keys[section.thread].insert(cell.key).second);
      if (cell.key >> 39U & 0x1FFU) {
        ++large;
        CHECK((cell.key >> 33U & 63U) == 1 + 43);
        CHECK((cell.key >> 32U & 1U) == 1);
        CHECK(cell.bytes == std::uint64_t{5} << 40U);
        continue;
      }
      if (cell.key >> 48U == static_cast<std::uint64_t>(bcast)) {
        ++again;
        CHECK(cell.count == 1);
        continue;
      }
      if ((cell.key >> 33U & 63U) == 1 + 9) {
        ++null;
        CHECK((cell.key & 0xFFFFFFFFU) == kNobody + 2);
        CHECK(cell.bytes == 0);
        continue;
      }
      calls += cell.count;
      bytes += cell.bytes;
      CHECK(cell.ticks == 5 * cell.count);
      CHECK(cell.longest == 5);
    }
  }
  CHECK(threads.size() == 2);
  CHECK(large == 1);
  CHECK(null == 1);
  CHECK(again == 1);
  CHECK(calls == 2 * 2 * (kPeers + 2));
  CHECK(bytes == 100 * calls);
  std::filesystem::remove_all(folder);
}

}  // namespace nearpeak::trace
