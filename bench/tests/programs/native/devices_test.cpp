// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "programs/native/mode.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

// What `nearpeak-native devices ARGUMENTS` prints.
std::string devices(const std::string& arguments) {
  const auto all = modes();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const auto& mode) { return mode->name() == "devices"; });
  REQUIRE(found != all.end());
  CLI::App app;
  (*found)->add_options(app);
  app.parse(arguments);

  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  const int status = (*found)->run();
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  CHECK(status == kGood);

  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

// That of a backend whose library FakeCuda has sent away.
std::string not_taken(const std::string& backend, const std::string& library) {
  return backend + ": not taken: /nowhere/" + library + " cannot be loaded: /nowhere/" + library +
         ": cannot open shared object file: No such file or directory\n";
}

const std::string kNoOthers = not_taken("hip", "libamdhip64.so") +
                              not_taken("openacc", "libgomp.so") +
                              not_taken("opencl", "libOpenCL.so");

}  // namespace

TEST_CASE("devices are listed") {
  const FakeCuda fake("prohibited=1");
  const std::string list =
      "cuda 0  Fake GPU A  GPU-00102030-4050-6070-8090-a0b0c0d0e0f0  00000010:17:00.0  "
      "memory 1073741824 B  L2 1048576 B\n"
      "cuda 1  Fake GPU B  GPU-01112131-4151-6171-8191-a1b1c1d1e1f1  00000010:18:00.0  "
      "memory 1073741824 B  L2 1048576 B  unusable: its compute mode is 'prohibited'\n";
  CHECK(devices("") == list);
  CHECK(devices("--verbose") == "cuda: driver for CUDA 12.4\n" + list + kNoOthers);
}

TEST_CASE("a machine without accelerators is no error") {
  const FakeCuda fake("devices=0");
  CHECK(devices("") == "no accelerator; --verbose says why\n");
  CHECK(devices("--verbose") ==
        std::string("cuda: not taken: the driver has no device\n") + kNoOthers);
}
