// SPDX-License-Identifier: Apache-2.0
#include "native/mode.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/records.hpp"

using namespace nearpeak;

TEST_CASE("the modes describe themselves") {
  const auto all = nlohmann::json::parse(describe_modes());
  CHECK(all["schema"] == 1);
  CHECK(all["program"] == "nearpeak-native");
  std::vector<std::string> names;
  for (const auto& mode : all["modes"]) {
    names.push_back(mode["name"]);
    CHECK_FALSE(mode["summary"].get<std::string>().empty());
    CHECK_FALSE(mode["metrics"].empty());
    for (const auto& metric : mode["metrics"])
      CHECK((metric["better"] == "lower") == (metric["unit"] == "us"));
    CHECK(mode["axes"][0]["name"] == "reuse");
  }
  CHECK(names == std::vector<std::string>{"gpu", "memory", "pair", "tcp", "verbs"});
}

TEST_CASE("names are chosen from those known") {
  CHECK(chosen("", {"a", "b"}, "metric") == std::vector<std::string>{"a", "b"});
  CHECK(chosen("b", {"a", "b"}, "metric") == std::vector<std::string>{"b"});
  CHECK_THROWS_WITH_AS(chosen("c", {"a", "b"}, "metric"), "unknown metric 'c': give some of a, b",
                       BadInput);
}

TEST_CASE("a file that cannot be written is bad input") {
  CHECK_THROWS_AS(check_writable("/nowhere/records.jsonl"), BadInput);
  check_writable("");
}

TEST_CASE("the probe is a record of a copy") {
  const RecordFile file;
  RecordWriter writer(file.path());
  run_probe(writer, Table(), measure_clock());
  const auto records = file.records("samples");
  REQUIRE(records.size() == 1);
  CHECK(records[0]["benchmark"] == "probe");
  CHECK(records[0]["metric"] == "copy");
  CHECK(records[0]["method"] == "memcpy");
  CHECK(records[0]["samples"][0] > 0);
}
