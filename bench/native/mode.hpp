// SPDX-License-Identifier: Apache-2.0
// What a mode of nearpeak-native is: one kind of data path whose ceilings it measures. Each is one
// file that registers itself.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "options/options.hpp"
#include "record/record.hpp"

namespace CLI {
class App;
}

namespace nearpeak {

struct Metric {
  std::string name;
  std::string unit;    // "us" or "GB/s"
  std::string better;  // "lower" or "higher"
};

struct ModeAxis {
  std::string name;
  std::vector<std::string> values;
};

struct ModeInfo {
  std::string name;
  std::string summary;
  std::vector<Metric> metrics;  // none: it measures nothing, and --describe leaves it out
  std::vector<ModeAxis> axes;
};

class Mode {
 public:
  explicit Mode(ModeInfo info) : info_(std::move(info)) {}
  virtual ~Mode() = default;
  const ModeInfo& info() const { return info_; }
  virtual void add_options(CLI::App& app) = 0;
  // Returns the exit status. Throws BadInput before anything is measured or written, and
  // std::runtime_error.
  virtual int run() = 0;

 private:
  ModeInfo info_;
};

// A static object of this type in a mode's file makes the mode known.
struct RegisterMode {
  explicit RegisterMode(Mode& mode);
};

std::vector<Mode*> modes();  // by name
std::string describe_modes();

// Throws BadInput for a name that is none of those known, saying what kind of name it is.
void check_name(const std::string& name, const std::vector<std::string>& known,
                const std::string& kind);

// The metrics or methods of `known` that a comma list names, in its order; all where it is empty.
// Several may have the same name. Throws BadInput.
template <class Named>
std::vector<Named> chosen(const std::string& list, const std::vector<Named>& known,
                          const std::string& kind) {
  if (list.empty()) return known;
  std::vector<std::string> names;
  for (const Named& each : known) names.push_back(each.name);
  std::vector<Named> out;
  for (const std::string& name : split(list)) {
    check_name(name, names, kind);
    std::copy_if(known.begin(), known.end(), std::back_inserter(out),
                 [&](const Named& each) { return each.name == name; });
  }
  return out;
}

// Throws BadInput where records cannot be appended to this file; an empty path is none.
void check_writable(const std::string& path);

// A copy of 16 MiB on this CPU for about 50 ms: its drift over the launches of a study shows that
// the machine has changed.
void run_probe(RecordWriter& writer, const Table& table, const ClockQuality& clock);

}  // namespace nearpeak
