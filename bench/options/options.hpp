// SPDX-License-Identifier: Apache-2.0
// The command-line options that the two measuring programs share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nearpeak {

inline constexpr const char* kVersion = "0.1.0";

// Bad input: one line that says what to do; exit status 2.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// In bytes: the counts of MPI are ints.
inline constexpr std::size_t kLargestMessage = std::numeric_limits<int>::max();

enum ExitStatus { kGood = 0, kFailed = 1, kBadInput = 2, kWrongData = 3 };

// "a, b", for people.
std::string comma_list(const std::vector<std::string>& names);
// Throws BadInput for one of `names` that is none of those known, saying what kind of name it is.
void check_names(const std::vector<std::string>& names, const std::vector<std::string>& known,
                 const std::string& kind);

// The axes that every benchmark and every ceiling has, and their values, the default first.
inline constexpr const char* kReuse = "reuse";
inline constexpr const char* kTouch = "touch";
const std::vector<std::string>& reuse_values();
const std::vector<std::string>& touch_values();

struct CommonOptions {
  std::string sizes = "0:64M";
  std::size_t largest = kLargestMessage;  // of the sizes, in bytes
  std::string reuse = "fixed";
  std::string touch = "none";
  std::uint64_t window = 64;
  std::string in_flight;                                  // empty: the default
  std::uint64_t memory_limit = std::uint64_t{512} << 20;  // bytes
  std::optional<std::uint64_t> cache;                     // bytes
  double slot_ms = 100;
  double limit_s = 10;
  double budget_ms = 200;
  std::uint64_t least_samples = 11;
  std::optional<std::uint64_t> seed;
  std::string jsonl;
  bool verify = true;
  bool keep_ranks = false;
  bool counters = true;
  bool with_device = false;  // some of the memory is a device's: what is the default then
  // What may be given.
  std::vector<std::string> reuses = reuse_values();
  std::vector<std::string> touches = touch_values();

  void add_to(CLI::App& app);
  // The sizes in the order in which they are to be measured: as given, or shuffled by the seed.
  // `usual`: of an application, those where nobody asked for others. Throws BadInput.
  std::vector<std::size_t> ordered_sizes(const std::vector<std::size_t>& usual = {}) const;
  // The limit of the bytes in flight, as it was given or by default.
  std::string most_in_flight() const;
  // Messages in flight at a size: the window, or fewer where they would be more than in_flight
  // bytes; at least 1. Throws BadInput.
  std::uint64_t window_at(std::size_t size_bytes) const;
  // Of the largest cache that buffers may stay in: as given, else this machine's or its device's.
  std::uint64_t cache_bytes(std::uint64_t of_device = 0) const;
  // From which size on that is fewer than the window, and how to keep it; "" where it is at no
  // size. Throws BadInput.
  std::string window_note() const;
};

// Parses a command line; exits the program for --help and --version. Throws BadInput.
void parse_line(CLI::App& app, int argc, const char* const* argv);

// The words of each part of a command line, as a + parts them, each behind the program's own name.
std::vector<std::vector<char*>> parts_of(int argc, char** argv);

// At the end of a program's help, line by line as it stands. Subcommands that are added later have
// it too.
void add_examples(CLI::App& app, const std::string& examples);

// "a,b" -> {"a", "b"}; an empty part stays one, and "" is {""}.
std::vector<std::string> split(const std::string& text, char separator = ',');
// "8", "4K", "64M", "1G" (powers of 1024). Throws BadInput.
std::size_t parse_bytes(const std::string& text);
// The same, of at most so many bytes. Throws BadInput.
std::size_t parse_size(const std::string& text, std::size_t largest = kLargestMessage);
// The shortest text of a number of bytes that parse_bytes reads: "4K" for 4096, "1000" for 1000.
std::string bytes_text(std::uint64_t bytes);
// The same for people, rounded up to a whole number of the largest unit of which there are ten:
// "65G" for 68822240384.
std::string bytes_text_up(std::uint64_t bytes);
// "0:64M" (0 and the powers of two up to 64M), "1K:1M", "8,1000,4K", and commas between them; each
// size once, in the order given. Throws BadInput.
std::vector<std::size_t> parse_sizes(const std::string& text,
                                     std::size_t largest = kLargestMessage);
// "0,2,5-7" -> {0, 2, 5, 6, 7}. Throws BadInput.
std::vector<int> parse_cpus(const std::string& text);

// Bytes of the largest cache of this machine's first CPU.
std::uint64_t largest_cache();

}  // namespace nearpeak
