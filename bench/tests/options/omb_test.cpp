// SPDX-License-Identifier: Apache-2.0
#include "options/omb.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>

#include "options/options.hpp"

using namespace nearpeak;

TEST_CASE("options of OMB are answered with ours") {
  CHECK(omb_hint({"-m", "1:4M", "-W", "64"}) ==
        "options of OMB have other names here: -m is --sizes LOW:HIGH, -W is --window N");
  CHECK(omb_hint({"-d", "cuda", "D", "H"}) ==
        "options of OMB have other names here: -d is not needed, D H is --buffers D,H");
  CHECK(omb_hint({"-d", "managed", "MD", "MH"}).ends_with("MD MH is --buffers M,M"));
  CHECK(omb_hint({"--accelerator=cuda"}).ends_with(": --accelerator is --buffers D,D"));
  CHECK(omb_hint({"-m8:1K"}).ends_with(": -m is --sizes LOW:HIGH"));
  CHECK(omb_hint({"-t", "3"}).ends_with("-t is --tests some of overlapping operations"));
  CHECK(omb_hint({"-D", "vect:8:16"}).ends_with("-D is a benchmark: contiguous, vector, hindexed"));
  CHECK(omb_hint({"-k", "3"}).ends_with("-k is not there yet"));
}

TEST_CASE("what OMB has not either gets no hint") {
  CHECK(omb_hint({}).empty());
  CHECK(omb_hint({"--windw", "64", "-", "-1", "x", "DD"}).empty());
}

TEST_CASE("a command line with options of OMB is refused in one line") {
  CLI::App app("", "program");
  CommonOptions common;
  common.add_to(*app.add_subcommand("bw"));
  std::vector<const char*> words{"program", "bw", "-m", "1:4M", "-i", "1000", "D", "D"};
  try {
    parse_line(app, static_cast<int>(words.size()), words.data());
    FAIL("it was taken");
  } catch (const BadInput& error) {
    const std::string said = error.what();
    CHECK(said.find("-m is --sizes LOW:HIGH, -i is --slot-ms") != std::string::npos);
    CHECK(said.find("D D is --buffers D,D; see program --help") != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
  }
}
