// SPDX-License-Identifier: Apache-2.0
// nearpeak-native: what each data path can carry without MPI.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "options/output.hpp"
#include "programs/native/mode.hpp"

namespace {

using namespace nearpeak;

constexpr const char* kExamples =
    "  nearpeak-native pair --cpus 0,1\n"
    "  nearpeak-native pair --cpus 0,1 --sizes 1K:1M --metrics latency --methods cma,mapped\n"
    "  nearpeak-native tcp --cpus 0,1 --address 127.0.0.1 --jsonl tcp.jsonl\n"
    "  nearpeak-native gpu --cpus 0,1 --devices 0,1 --buffers D,D\n"
    "  nearpeak-native gpu --cpus 0,1 --devices -,0 --buffers H,D --metrics latency\n"
    "  nearpeak-native pair --cpus 0,1 --sizes 1M + pair --cpus 0,1 --sizes 1M --touch sender\n"
    "  mpirun -n 2 --host a,b nearpeak-native tcp --peer a --port 7777\n"
    "  mpirun -n 2 --host a,b nearpeak-native verbs --peer a --port 7777 --adapter mlx5_0:1\n"
    "  nearpeak-native memory --cpus 0-3 --memory-node 0";

// Returns the mode to run; exits the program for --help, --version and --describe. Throws BadInput.
std::unique_ptr<Mode> parse(int argc, char** argv) {
  CLI::App app(
      "Measures what data paths can carry without MPI: the ceilings. A + begins another command "
      "line, which is measured after the one before it.",
      "nearpeak-native");
  app.add_flag_callback(
      "--describe",
      [] {
        std::cout << describe_modes() << "\n";
        finish_output();
        std::exit(kGood);
      },
      "print the modes, their metrics and axes as JSON");
  app.require_subcommand(0, 1);
  auto all = modes();
  std::unique_ptr<Mode> chosen;
  for (auto& mode : all) {
    CLI::App* command = app.add_subcommand(mode->name(), mode->summary());
    mode->add_options(*command);
    command->callback([&chosen, &mode] { chosen = std::move(mode); });
  }
  add_examples(app, kExamples);
  parse_line(app, argc, argv);
  if (chosen == nullptr) {
    std::vector<std::string> names;
    for (const auto& mode : all) names.push_back(mode->name());
    throw BadInput("name a mode, one of " + comma_list(names) + "; see nearpeak-native --help");
  }
  return chosen;
}

// Each part is known to be good before the first is measured.
int run(int argc, char** argv) {
  std::vector<std::unique_ptr<Mode>> parts;
  for (auto& words : parts_of(argc, argv))
    parts.push_back(parse(static_cast<int>(words.size()), words.data()));
  int status = kGood;
  for (const auto& part : parts) {
    const int ended = part->run();
    if (ended != kGood && ended != kWrongData) return ended;
    status = std::max(status, ended);
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const BadInput& error) {
    std::cerr << "nearpeak-native: " << error.what() << std::endl;
    return kBadInput;
  } catch (const std::exception& error) {
    std::cerr << "nearpeak-native: " << error.what() << std::endl;
    return kFailed;
  }
}
