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

TEST_CASE("metrics and methods are chosen from those known") {
  const std::vector<Metric> known{{"a", "us", "lower"}, {"b", "GB/s", "higher"}};
  CHECK(chosen("", known, "metric").size() == 2);
  REQUIRE(chosen("b", known, "metric").size() == 1);
  CHECK(chosen("b", known, "metric")[0].unit == "GB/s");
  CHECK(chosen("b,a", known, "metric")[1].name == "a");
  const std::vector<Metric> twice{{"a", "us", "lower"}, {"a", "GB/s", "higher"}};
  CHECK(chosen("", twice, "metric")[1].unit == "GB/s");
  CHECK(chosen("a", twice, "metric")[1].unit == "GB/s");
  for (const char* bad : {"c", "a,", ",", "a b"})
    CHECK_THROWS_WITH_AS(chosen(bad, known, "metric"), doctest::Contains("give some of a, b"),
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
