// SPDX-License-Identifier: Apache-2.0
#include "options/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "options/omb.hpp"
#include "options/output.hpp"

namespace nearpeak {
namespace {

constexpr char kInFlight[] = "64M";
// GPUs need more to be busy, and 64 messages of 4 MiB are a window as in OMB.
constexpr char kDeviceInFlight[] = "256M";

// For CLI11 nan lies in every range.
std::string is_number(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is not a number" : "";
}

}  // namespace

void parse_line(CLI::App& app, int argc, const char* const* argv) {
  const std::string name = app.get_name();
  app.set_version_flag("--version", name + " " + kVersion, "print the version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      const int status = app.exit(error);
      finish_output();
      std::exit(status);
    }
    const std::string hint = omb_hint(app.remaining(true));
    throw BadInput((hint.empty() ? error.what() : hint) + "; see " + name + " --help");
  }
}

std::vector<std::vector<char*>> parts_of(int argc, char** argv) {
  std::vector<std::vector<char*>> parts{{}};
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "+")
      parts.emplace_back();
    else
      parts.back().push_back(argv[i]);
  for (auto& part : parts) part.insert(part.begin(), argv[0]);
  return parts;
}

void add_examples(CLI::App& app, const std::string& examples) {
  constexpr float kShortNames = 6.F / 30;  // of the column of names, as wide as "  -h, "
  app.footer("EXAMPLES:\n" + examples);
  app.get_formatter()->enable_footer_formatting(false);
  app.get_formatter()->long_option_alignment_ratio(kShortNames);
}

void check_names(const std::vector<std::string>& names, const std::vector<std::string>& known,
                 const std::string& kind) {
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw BadInput("unknown " + kind + " '" + name + "': give some of " + comma_list(known));
}

const std::vector<std::string>& reuse_values() {
  static const std::vector<std::string> values{"fixed", "single", "rotating"};
  return values;
}

const std::vector<std::string>& touch_values() {
  static const std::vector<std::string> values{"none", "sender"};
  return values;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  if (text.empty() || text.back() == separator) parts.emplace_back();
  return parts;
}

std::size_t parse_bytes(const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string suffix(rest, end);
  int shift = -1;
  if (suffix.empty()) shift = 0;
  if (suffix == "K" || suffix == "k") shift = 10;
  if (suffix == "M") shift = 20;
  if (suffix == "G") shift = 30;
  if (error != std::errc{} || shift < 0 || number > (~std::uint64_t{0} >> shift))
    throw BadInput("'" + text + "' is not a size: give bytes, like 8, 1000, 4K, 64M or 1G");
  return number << shift;
}

std::size_t parse_size(const std::string& text, std::size_t largest) {
  const std::size_t size = parse_bytes(text);
  if (size > largest)
    throw BadInput("size " + text + " is too large: give at most " + std::to_string(largest) +
                   " bytes");
  return size;
}

std::string bytes_text(std::uint64_t bytes) {
  for (const auto& [suffix, shift] : {std::pair{"G", 30}, std::pair{"M", 20}, std::pair{"K", 10}})
    if (bytes != 0 && bytes % (std::uint64_t{1} << shift) == 0)
      return std::to_string(bytes >> shift) + suffix;
  return std::to_string(bytes);
}

std::string bytes_text_up(std::uint64_t bytes) {
  for (const int shift : {30, 20, 10}) {
    const std::uint64_t unit = std::uint64_t{1} << shift;
    if (bytes >= 10 * unit) return bytes_text((bytes - 1) / unit * unit + unit);
  }
  return bytes_text(bytes);
}

std::vector<std::size_t> parse_sizes(const std::string& text, std::size_t largest) {
  std::vector<std::size_t> sizes;
  const auto add = [&sizes](std::size_t size) {
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  };
  for (const std::string& part : split(text, ',')) {
    const auto ends = split(part, ':');
    if (ends.size() == 1) {
      add(parse_size(part, largest));
      continue;
    }
    if (ends.size() > 2)
      throw BadInput("'" + part + "' is not a range of sizes: give LOW:HIGH, like 0:64M");
    const std::size_t low = parse_size(ends[0], largest);
    const std::size_t high = parse_size(ends[1], largest);
    if (low > high) throw BadInput("the range of sizes " + part + " is empty: give low:high");
    if (low == 0) add(0);
    std::size_t power = 1;
    while (power < low) power *= 2;
    if (low > 0 && power > high)
      throw BadInput("the range of sizes " + part +
                     " holds no power of two: give sizes, like 1000, or a range, like 512:1024");
    for (; power <= high; power *= 2) add(power);
  }
  return sizes;
}

std::vector<int> parse_cpus(const std::string& text) {
  std::vector<int> cpus;
  const auto number = [&text](const std::string& part) {
    int value = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || rest != part.data() + part.size() || value < 0)
      throw BadInput("'" + text + "' is not a list of CPUs: give numbers, like 0,2 or 0-3");
    return value;
  };
  for (const std::string& part : split(text, ',')) {
    const auto ends = split(part, '-');
    const int low = number(ends.front());
    const int high = number(ends.back());
    if (ends.size() > 2 || high < low || high - low > 65536)
      throw BadInput("'" + text + "' is not a list of CPUs: give numbers, like 0,2 or 0-3");
    for (int cpu = low; cpu <= high; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

// Of the first CPU, in bytes. The kernel's word: sysconf's is the whole package's on some machines.
std::uint64_t largest_cache() {
  std::uint64_t largest = std::uint64_t{32} << 20;  // where the kernel says nothing
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    if (std::string text; file >> text)
      largest = std::max<std::uint64_t>(largest, parse_bytes(text));
  }
  return largest;
}

void CommonOptions::add_to(CLI::App& app) {
  app.add_option("--sizes", sizes, "bytes of a message: 0:64M (powers of two), 8,1000,4K")
      ->capture_default_str();
  app.add_option("--reuse", reuse,
                 "fixed: a buffer for each message of a window, the same in every window; single: "
                 "one buffer for all messages, as in OMB; rotating: more buffers than the caches "
                 "hold, in turn")
      ->check(CLI::IsMember(reuses))
      ->capture_default_str();
  app.add_option("--touch", touch,
                 "none: the data is not written again before it is sent, as in OMB; sender: within "
                 "the measured time the sender first writes a byte of every cache line, as "
                 "applications do")
      ->check(CLI::IsMember(touches))
      ->capture_default_str();
  app.add_option("--window", window, "messages in flight (bw, bibw)")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--in-flight", in_flight,
                 std::string("most bytes in flight: makes the window of large messages smaller [") +
                     kInFlight + ", with buffers that are not H " + kDeviceInFlight + "]");
  app.add_option_function<std::string>(
         "--memory-limit", [this](const std::string& text) { memory_limit = parse_bytes(text); },
         "collective operations: most bytes of a rank's buffers; larger sizes are left out")
      ->default_str(bytes_text(memory_limit));
  app.add_option_function<std::string>(
         "--cache", [this](const std::string& text) { cache = parse_bytes(text); },
         "bytes of the largest cache; rotating buffers are larger than twice this")
      ->default_str("this machine's");
  app.add_option("--slot-ms", slot_ms, "milliseconds of timed samples for each size")
      ->check(CLI::Range(0.1, 1e6))
      ->check(is_number)
      ->capture_default_str();
  app.add_option("--limit-s", limit_s, "seconds that one size may take at most")
      ->check(CLI::Range(0.01, 1e6))
      ->check(is_number)
      ->capture_default_str();
  app.add_option("--budget-ms", budget_ms,
                 "benchmarks that may be very slow (datatypes): most milliseconds of an iteration; "
                 "a case that takes longer is given up")
      ->check(CLI::Range(0.001, 1e6))
      ->check(is_number)
      ->capture_default_str();
  app.add_option("--least-samples", least_samples,
                 "fewest samples of each size, even if they take longer than the slot")
      ->check(CLI::Range(3, 1 << 20))
      ->capture_default_str();
  app.add_option("--seed", seed,
                 "shuffle the sizes with this seed; default: sizes keep their order");
  app.add_option("--jsonl", jsonl,
                 "append records to this file (docs/reference/reading-records.md)");
  app.add_flag("!--no-verify", verify, "do not check the received data");
  app.add_flag("!--no-counters", counters,
               "do not count the bytes on the links of GPUs, adapters and interfaces");
  app.add_flag("--keep-ranks", keep_ranks,
               "record the samples of every rank, not only of the leader");
}

std::vector<std::size_t> CommonOptions::ordered_sizes(const std::vector<std::size_t>& usual) const {
  const bool asked = usual.empty() || sizes != CommonOptions{}.sizes;
  auto out = asked ? parse_sizes(sizes, largest) : usual;
  if (seed) std::shuffle(out.begin(), out.end(), std::mt19937_64(*seed));
  return out;
}

std::string CommonOptions::most_in_flight() const {
  if (!in_flight.empty()) return in_flight;
  return with_device ? kDeviceInFlight : kInFlight;
}

std::uint64_t CommonOptions::window_at(std::size_t size_bytes) const {
  const std::uint64_t most = parse_bytes(most_in_flight()) / std::max<std::size_t>(size_bytes, 1);
  return std::clamp<std::uint64_t>(most, 1, window);
}

std::uint64_t CommonOptions::cache_bytes(std::uint64_t of_device) const {
  return cache.value_or(std::max(largest_cache(), of_device));
}

std::string CommonOptions::window_note() const {
  auto large = parse_sizes(sizes, largest);
  std::erase_if(large, [this](std::size_t size) { return window_at(size) == window; });
  if (large.empty()) return "";
  const auto [first, last] = std::minmax_element(large.begin(), large.end());
  return "window: fewer than " + std::to_string(window) + " messages from " + bytes_text(*first) +
         " on, as at most " + most_in_flight() + " are in flight; --in-flight " +
         bytes_text(window * *last) + " keeps " + std::to_string(window) + ", as OMB does";
}

}  // namespace nearpeak
