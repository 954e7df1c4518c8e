// SPDX-License-Identifier: Apache-2.0
// What tests of kernels with the real compiler have in common.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <glob.h>

#include <cstdlib>
#include <filesystem>
#include <string>

// A folder that goes at the end.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "nearpeak-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// NVRTC, where the loader or the toolkit's usual folder has it; else empty.
inline std::string find_nvrtc() {
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
    if (dlopen(name, RTLD_NOW | RTLD_LOCAL) != nullptr) return name;
  glob_t found{};
  std::string first;
  if (glob("/usr/local/cuda*/lib64/libnvrtc.so", 0, nullptr, &found) == 0)
    first = found.gl_pathv[0];
  globfree(&found);
  return first;
}
