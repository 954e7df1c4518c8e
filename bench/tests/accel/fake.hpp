// SPDX-License-Identifier: Apache-2.0
// The fakes of GPU drivers (fake_cuda.cpp, fake_hip.cpp) in place of the real ones, and programs
// run by tests.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"

// An environment variable for a while.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = std::make_unique<std::string>(old);
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::unique_ptr<std::string> old_;
};

inline std::unique_ptr<nearpeak::Accelerator> load_backend(const std::string& name) {
  for (const nearpeak::Backend& backend : nearpeak::backends())
    if (backend.name == name) return backend.load();
  throw std::runtime_error("there is no backend " + name);
}

// What a function of a fake counts.
inline int count_of(const char* library, const char* function) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  const int count = reinterpret_cast<int (*)()>(dlsym(handle, function))();
  dlclose(handle);
  return count;
}

inline constexpr const char* kNoNvrtc = "/nowhere/libnvrtc.so";

// The fake driver with these settings, without kernels unless it is given an NVRTC, and no other
// vendor's library. At the end nothing may have leaked.
class FakeCuda {
 public:
  explicit FakeCuda(const std::string& settings = "", const std::string& library = FAKE_CUDA,
                    const std::string& nvrtc = kNoNvrtc)
      : library_("NEARPEAK_CUDA_LIBRARY", library),
        settings_("NEARPEAK_FAKE_CUDA", settings),
        nvrtc_("NEARPEAK_NVRTC_LIBRARY", nvrtc),
        hip_("NEARPEAK_HIP_LIBRARY", "/nowhere/libamdhip64.so"),
        openacc_("NEARPEAK_OPENACC_LIBRARY", "/nowhere/libgomp.so"),
        opencl_("NEARPEAK_OPENCL_LIBRARY", "/nowhere/libOpenCL.so") {}
  ~FakeCuda() { CHECK(live() == 0); }

  static std::unique_ptr<nearpeak::Accelerator> load() { return load_backend("cuda"); }

  // Contexts, memory, streams, events and modules that have not ended.
  static int live() { return count_of(FAKE_CUDA, "fake_cuda_live"); }

 private:
  Variable library_;
  Variable settings_;
  Variable nvrtc_;
  Variable hip_;
  Variable openacc_;
  Variable opencl_;
};

// The same under HIP's names.
class FakeHip {
 public:
  explicit FakeHip(const std::string& settings = "", const std::string& hiprtc = FAKE_HIP)
      : library_("NEARPEAK_HIP_LIBRARY", FAKE_HIP),
        settings_("NEARPEAK_FAKE_CUDA", settings),
        hiprtc_("NEARPEAK_HIPRTC_LIBRARY", hiprtc) {}
  ~FakeHip() { CHECK(live() == 0); }

  static std::unique_ptr<nearpeak::Accelerator> load() { return load_backend("hip"); }

  static int live() { return count_of(FAKE_HIP, "fake_hip_live"); }

 private:
  Variable library_;
  Variable settings_;
  Variable hiprtc_;
};

// The exit status of a program, -1 where it cannot be started.
inline int run_program(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return -1;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
