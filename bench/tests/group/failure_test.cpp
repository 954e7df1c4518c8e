// SPDX-License-Identifier: Apache-2.0
#include "group/failure.hpp"

#include <doctest/doctest.h>

#include "accel/accelerator.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

// What is said where the ranks of a group have failed so, and the exit status.
std::pair<std::string, int> settled(const std::vector<Failure>& failures) {
  const RecordFile said;
  const std::vector<int> cpus{two_cpus()[0], two_cpus()[1]};
  const int status = in_own_process(
      [&] {
        return run_group(cpus, 60, [&](SharedGroup& group) {
          const int own =
              settle("program", failures.at(static_cast<std::size_t>(group.rank())), group);
          group.barrier();
          return own;
        });
      },
      said.path());
  std::ifstream file(said.path());
  return {std::string(std::istreambuf_iterator<char>(file), {}), status};
}

}  // namespace

TEST_CASE("what is thrown has its exit status") {
  CHECK(failure_in([] {}).status == kGood);
  const Failure bad = failure_in([] { throw BadInput("a word"); });
  CHECK((bad.status == kBadInput && bad.text == "a word"));
  CHECK(failure_in([] { throw BackendUnavailable("none"); }).status == kBadInput);
  CHECK(failure_in([] { throw AcceleratorError("broken"); }).status == kFailed);
}

TEST_CASE("what stops any rank stops all, and is said once") {
  using Said = std::pair<std::string, int>;
  CHECK(settled({{}, {}}) == Said{"", kGood});
  CHECK(settled({{kBadInput, "a"}, {kBadInput, "a"}}) == Said{"program: a\n", kBadInput});
  CHECK(settled({{}, {kFailed, "b"}}) == Said{"program: rank 1: b\n", kFailed});
  CHECK(settled({{kFailed, "a"}, {kBadInput, "b"}}) ==
        Said{"program: rank 0: a\nprogram: rank 1: b\n", kBadInput});
}
