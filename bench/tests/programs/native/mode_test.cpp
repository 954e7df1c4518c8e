// SPDX-License-Identifier: Apache-2.0
#include "programs/native/mode.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tests/records.hpp"

using namespace nearpeak;

TEST_CASE("the modes describe themselves") {
  const auto all = parse_json(describe_modes());
  CHECK(all["schema"] == 3);
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
  for (const char* name : {"memory", "pair", "tcp", "verbs"})
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
}

TEST_CASE("a benchmark says all that the study must know of it") {
  const auto all = parse_json(describe_modes());
  const auto described = [&](const std::string& name) {
    for (const auto& benchmark : all["benchmarks"])
      if (benchmark["name"] == name) return benchmark;
    return nlohmann::json();
  };
  const auto latency = described("latency");
  CHECK(latency["x"] == parse_json(R"({"name": "size", "unit": "B", "usual": []})"));
  CHECK(latency["moves"] == nlohmann::json({{"ways", 2}, {"window", false}}));
  CHECK(latency["ceiling"] == "measured");
  CHECK(latency["default"] == true);
  CHECK(described("bw")["moves"] == nlohmann::json({{"ways", 1}, {"window", true}}));
  CHECK(described("bibw")["moves"] == nlohmann::json({{"ways", 2}, {"window", true}}));
  CHECK(described("mbw_mr")["default"] == false);
  CHECK(described("multi_lat")["moves"] == nlohmann::json({{"ways", 2}, {"window", false}}));
  CHECK(described("multi_lat")["threads"] == false);
}

TEST_CASE("what a mode does not do is no option of it") {
  for (const auto& mode : modes()) {
    const auto axes = mode->axes();
    const auto touch = std::find_if(axes.begin(), axes.end(),
                                    [](const Axis& axis) { return axis.name == kTouch; });
    if (mode->metrics().empty() || touch == axes.end()) continue;
    CLI::App app;
    mode->add_options(app);
    for (const auto* option : app.get_options()) const_cast<CLI::Option*>(option)->required(false);
    if (touch->values.size() == 1)
      CHECK_THROWS_AS(app.parse("--touch sender"), CLI::ValidationError);
    else
      CHECK_NOTHROW(app.parse("--touch sender"));
  }
}

TEST_CASE("arrays and links have no plateau") {
  for (const auto& mode : modes()) {
    CLI::App app;
    mode->add_options(app);
    const bool messages = mode->name() != "memory" && mode->name() != "links";
    if (!mode->metrics().empty())
      CHECK((app.get_option_no_throw("--plateau") != nullptr) == messages);
  }
}

TEST_CASE("methods are chosen by name from those known") {
  struct Named {
    std::string name;
    int number;
  };
  const auto chosen = [](const std::vector<std::string>& asked) {
    std::vector<Named> known{{"a", 1}, {"b", 2}, {"b", 3}};
    choose(asked, known);
    return known;
  };
  CHECK(chosen({}).size() == 3);
  CHECK(chosen({"a"}).size() == 1);
  REQUIRE(chosen({"b"}).size() == 2);
  CHECK(chosen({"b"})[1].number == 3);
  for (const char* bad : {"c", "", "a b"})
    CHECK_THROWS_WITH_AS(chosen({bad}), doctest::Contains("give some of a, b"), BadInput);
}

TEST_CASE("metrics are benchmarks over a transport, where they fit the ranks") {
  ModeOptions options;
  CHECK(transport_benchmarks(options, 2).size() == 3);
  CHECK_THROWS_AS(transport_benchmarks(options, 4), BadInput);
  options.metrics = {"mbw_mr"};
  CHECK(transport_benchmarks(options, 4).size() == 1);
  options.metrics = {"latency", "bw"};
  const auto in_order = transport_benchmarks(options, 2);
  CHECK(in_order.front()->info.name == "latency");
  CHECK(in_order.back()->info.name == "bw");
  options.metrics = {"latency", ""};
  CHECK_THROWS_AS(transport_benchmarks(options, 2), BadInput);
}

TEST_CASE("a metric that has none of the sizes is bad input, and one that has some is measured") {
  ModeOptions options;
  options.common.sizes = "0";
  CHECK(transport_benchmarks(options, 2).size() == 3);  // of the usual ones one has it
  options.metrics = {"latency"};
  CHECK(transport_benchmarks(options, 2).size() == 1);
  options.metrics = {"latency", "bw"};
  CHECK_THROWS_WITH_AS(transport_benchmarks(options, 2), "bw needs sizes of at least 1 B",
                       BadInput);
  options.plateau = 1024;  // a size of rates
  CHECK(transport_benchmarks(options, 2).size() == 2);
  options.plateau = 0;
  options.common.sizes = "0,8";
  CHECK(transport_benchmarks(options, 2).size() == 2);
}

TEST_CASE("a file that cannot be written, or a size that is none, is bad input") {
  ModeOptions options;
  options.check();
  options.common.jsonl = "/nowhere/records.jsonl";
  CHECK_THROWS_AS(options.check(), BadInput);
  options.common.jsonl.clear();
  options.common.sizes = "x";
  CHECK_THROWS_AS(options.check(), BadInput);
}
