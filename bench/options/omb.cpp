// SPDX-License-Identifier: Apache-2.0
#include "options/omb.hpp"

#include <string_view>

namespace nearpeak {
namespace {

struct OmbOption {
  char letter;
  std::string_view name;
  std::string_view here;  // what it is in Nearpeak
};

constexpr std::string_view kNotYet = "not there yet";

// Of OMB 7.4, and -M of earlier ones.
constexpr OmbOption kOptions[] = {
    {'m', "message-size", "--sizes LOW:HIGH"},
    {'M', "mem-limit", "--memory-limit BYTES of collective operations"},
    {'i', "iterations", "--slot-ms MS (time for each size) or --least-samples N"},
    {'x', "warmup", "not needed"},
    {'W', "window-size", "--window N"},
    {'V', "vary-window", "--window N, in a launch for each"},
    {'d', "accelerator", "--buffers D,D"},
    {'b', "buffer-num", "--reuse single or --reuse fixed"},
    {'c', "validation", "always on"},
    {'u', "validation-warmup", "not needed"},
    {'f', "full", "always on"},
    {'z', "tail-lat", "always on (p05, p95)"},
    {'R', "print-rate", "always on"},
    {'p', "num-pairs", "half the number of ranks"},
    {'T', "type", "--type of reductions"},
    {'G', "graph", "the report of `nearpeak study`"},
    {'l', "in-place", "--inplace yes"},
    {'v', "version", "--version"},
    {'a', "array-size", kNotYet},
    {'D', "ddt", "a benchmark: contiguous, vector, hindexed"},
    {'I', "session", kNotYet},
    {'k', "root-rank", kNotYet},
    {'N', "nhbr", kNotYet},
    {'P', "papi", kNotYet},
    {'q', "partitions", "--partitions N"},
    {'r', "cuda-target", "--compute cpu, gpu or both of overlapping operations"},
    {'s', "sync-option", "--sync WAY of one-sided operations"},
    {'t', "num-test-calls", "--tests some of overlapping operations"},
    {'w', "win-options", "--win KIND of one-sided operations"},
};

// The option alone: `-m` of `-m8:1K`, `--message-size` of `--message-size=8:1K`.
std::string without_value(const std::string& word) {
  return word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

const OmbOption* find_option(const std::string& word) {
  if (word.size() < 2 || word.front() != '-') return nullptr;
  const std::string option = without_value(word);
  for (const OmbOption& known : kOptions)
    if (option == "--" + std::string(known.name) || option == std::string{'-', known.letter})
      return &known;
  return nullptr;
}

// OMB has MD and MH too, managed memory that begins in a device or in the host.
bool names_buffer(const std::string& word) {
  return word == "H" || word == "D" || word == "M" || word == "MD" || word == "MH";
}

}  // namespace

std::string omb_hint(const std::vector<std::string>& unexpected) {
  std::string hint;
  const auto add = [&hint](const std::string& theirs, std::string_view ours) {
    hint += (hint.empty() ? "" : ", ") + theirs + " is " + std::string(ours);
  };
  std::string words;
  std::string buffers;
  for (const std::string& word : unexpected) {
    if (!names_buffer(word)) continue;
    words += (words.empty() ? "" : " ") + word;
    buffers += (buffers.empty() ? "" : ",") + word.substr(0, 1);
  }
  for (const std::string& word : unexpected) {
    const OmbOption* const option = find_option(word);
    if (option == nullptr) continue;
    const bool said_below = option->letter == 'd' && !buffers.empty();
    add(without_value(word), said_below ? "not needed" : option->here);
  }
  if (!buffers.empty()) add(words, "--buffers " + buffers);
  return hint.empty() ? "" : "options of OMB have other names here: " + hint;
}

}  // namespace nearpeak
