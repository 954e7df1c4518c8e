// SPDX-License-Identifier: Apache-2.0
#include "tests/records.hpp"

#include <fstream>

template class nlohmann::basic_json<>;
template class nlohmann::detail::serializer<nlohmann::json>;

nlohmann::json parse_json(const std::string& text) { return nlohmann::json::parse(text); }

doctest::String doctest::StringMaker<nlohmann::json>::convert(const nlohmann::json& value) {
  return value.dump().c_str();
}

std::vector<nlohmann::json> RecordFile::records(const std::string& kind) const {
  std::vector<nlohmann::json> out;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    auto record = parse_json(line);
    if (kind.empty() || record["record"] == kind) out.push_back(record);
  }
  return out;
}
