// SPDX-License-Identifier: Apache-2.0
// What tests of kernels with the real compiler have in common.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "accel/cuda/nvrtc.hpp"

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

// The real NVRTC, where it is here; else empty.
inline std::string find_nvrtc() {
  for (const std::string& name : nearpeak::cuda::nvrtc_names())
    if (dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return name;
  return "";
}
