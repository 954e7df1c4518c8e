// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/nvrtc.hpp"

#include <glob.h>

namespace nearpeak::cuda {

std::vector<std::string> nvrtc_names() {
  std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  // Where NVIDIA's installer puts toolkits.
  glob_t found{};
  if (glob("/usr/local/cuda*/lib64/libnvrtc.so", 0, nullptr, &found) == 0)
    names.insert(names.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return names;
}

Nvrtc::Nvrtc() : compiler_(Library("NEARPEAK_NVRTC_LIBRARY", nvrtc_names()), "nvrtc", "CUBIN") {}

namespace {
std::string target(int major, int minor) {
  return "sm_" + std::to_string(major) + std::to_string(minor);
}
}  // namespace

std::vector<std::string> Nvrtc::options(int major, int minor) {
  return {"--gpu-architecture=" + target(major, minor), "--std=c++17"};
}

std::string Nvrtc::compile(const std::string& source, int major, int minor) const {
  return compiler_.compile(source, target(major, minor), options(major, minor));
}

}  // namespace nearpeak::cuda
