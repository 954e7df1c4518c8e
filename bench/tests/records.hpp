// SPDX-License-Identifier: Apache-2.0
// A file for records that a test has written, and what is in it.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Compiled once (records.cpp): in every test they took as long as all the rest.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::detail::serializer<nlohmann::json>;
nlohmann::json parse_json(const std::string& text);
template <>
struct doctest::StringMaker<nlohmann::json> {
  static String convert(const nlohmann::json& value);
};

class RecordFile {
 public:
  RecordFile() {
    char name[] = "/tmp/nearpeak-test-XXXXXX";
    close(mkstemp(name));
    path_ = name;
  }
  ~RecordFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

  // Every line, or those of one kind.
  std::vector<nlohmann::json> records(const std::string& kind = "") const;

 private:
  std::string path_;
};
