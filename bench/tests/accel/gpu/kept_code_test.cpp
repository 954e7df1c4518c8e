// SPDX-License-Identifier: Apache-2.0
#include "accel/gpu/kept_code.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

using nearpeak::gpu::forget_code;
using nearpeak::gpu::keep_code_in;
using nearpeak::gpu::kept_code;

namespace {

namespace fs = std::filesystem;

// A folder of its own, in which nothing is kept any more at its end.
struct CodeFolder {
  fs::path around = fs::temp_directory_path() / ("nearpeak-code-" + std::to_string(getpid()));
  fs::path path = around / "kernels";
  CodeFolder() {
    fs::create_directory(around);
    keep_code_in(path);
  }
  ~CodeFolder() {
    keep_code_in("");
    fs::remove_all(around);
  }
};

const std::string kCode("a\0b\n", 4);

std::string made(const std::string& key, int& times) {
  return kept_code(key, [&] {
    ++times;
    return kCode;
  });
}

}  // namespace

TEST_CASE("code is compiled once for a key") {
  const CodeFolder folder;
  int times = 0;
  CHECK(made("one", times) == kCode);
  CHECK(made("one", times) == kCode);
  CHECK(times == 1);
  CHECK(made("two", times) == kCode);
  CHECK(times == 2);
  CHECK(fs::status(folder.path).permissions() == fs::perms::owner_all);
}

TEST_CASE("what is damaged or of another key is compiled anew") {
  const CodeFolder folder;
  int times = 0;
  made("one", times);
  const fs::path file = *fs::directory_iterator(folder.path);
  fs::resize_file(file, fs::file_size(file) - 1);
  CHECK(made("one", times) == kCode);
  CHECK(times == 2);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-2, std::ios::end)
      << "x";
  CHECK(made("one", times) == kCode);
  CHECK(times == 3);
  made("two", times);
  for (const auto& each : fs::directory_iterator(folder.path))
    if (each.path() != file) fs::copy_file(file, each.path(), fs::copy_options::overwrite_existing);
  made("two", times);
  CHECK(times == 5);
}

TEST_CASE("where nothing can be written, and where compiling fails, nothing is kept") {
  const CodeFolder folder;
  std::ofstream(folder.path) << "no folder";
  int times = 0;
  made("one", times);
  CHECK(made("one", times) == kCode);
  CHECK(times == 2);
  fs::remove(folder.path);
  const auto fail = []() -> std::string { throw std::runtime_error("no such target"); };
  CHECK_THROWS_AS(kept_code("one", fail), std::runtime_error);
  CHECK(!fs::exists(folder.path));
}

TEST_CASE("what others may write is not loaded, and what was refused is compiled anew") {
  const CodeFolder folder;
  int times = 0;
  made("one", times);
  fs::permissions(folder.path, fs::perms::others_write, fs::perm_options::add);
  made("one", times);
  CHECK(times == 2);
  fs::permissions(folder.path, fs::perms::owner_all);
  made("one", times);
  CHECK(times == 2);
  forget_code();
  made("one", times);
  CHECK(times == 3);
}
