// SPDX-License-Identifier: Apache-2.0
// A file for records that a test has written, and what is in it.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
  std::vector<nlohmann::json> records(const std::string& kind = "") const {
    std::vector<nlohmann::json> out;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      auto record = nlohmann::json::parse(line);
      if (kind.empty() || record["record"] == kind) out.push_back(record);
    }
    return out;
  }

 private:
  std::string path_;
};
