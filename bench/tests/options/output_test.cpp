// SPDX-License-Identifier: Apache-2.0
#include "options/output.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <functional>
#include <iostream>

#include "record/record.hpp"
#include "tests/programs/native/quiet.hpp"

using namespace nearpeak;

namespace {

// The exit status of a program that prints so into a file.
int printed_to(const std::string& file, const std::function<void()>& print) {
  return in_own_process([&] {
    (void)!std::freopen(file.c_str(), "w", stdout);
    return run_rank(0, [&] {
      print();
      return kGood;
    });
  });
}

}  // namespace

TEST_CASE("output that cannot be written is a failure, however it was printed") {
  const Table table;
  CaseResult result;
  result.name.benchmark = "pair";
  result.name.metric = {"bw", "GB/s", "higher"};
  result.samples = {1, 2};
  const std::string long_text(100'000, 'x');
  const auto by_cout = [&](const std::string& text) {
    return [text] {
      std::cout << text;
      finish_output();
    };
  };
  const std::vector<std::function<void()>> ways{[&] { table.heading("text"); },
                                                [&] { table.columns({result}); },
                                                [&] { table.row({result}); },
                                                [&] { table.problem(8, "text"); },
                                                by_cout("text\n"),
                                                by_cout(long_text)};
  for (const auto& way : ways) {
    CHECK(printed_to("/dev/null", way) == kGood);
    CHECK(printed_to("/dev/full", way) == kFailed);
  }
}
