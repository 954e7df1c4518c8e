// SPDX-License-Identifier: Apache-2.0
#include "group/group.hpp"

#include <algorithm>
#include <stdexcept>

namespace nearpeak {

std::vector<int> Group::others() const {
  std::vector<int> all;
  for (int step = 1; step < size(); ++step) all.push_back((rank() + step) % size());
  return all;
}

std::vector<double> Group::gather(const std::vector<double>& mine) {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(size()));
  gather(mine.data(), mine.size() * sizeof(double), all.data());
  return all;
}

std::vector<std::string> Group::gather(const std::string& mine) {
  const auto lengths = gather<std::size_t>(mine.size());
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  if (longest > kMostText)
    throw std::runtime_error("a rank says that it has a text of " + std::to_string(longest) +
                             " B: more than is believed");
  std::string padded = mine;
  padded.resize(longest, '\0');
  std::string all(longest * lengths.size(), '\0');
  gather(padded.data(), longest, all.data());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    texts.push_back(all.substr(i * longest, lengths[i]));
  return texts;
}

bool Group::everywhere(bool mine) {
  const auto all = gather<int>(mine ? 1 : 0);
  return std::find(all.begin(), all.end(), 0) == all.end();
}

std::string Group::first_reason(const std::string& mine) {
  for (std::string& reason : gather(mine))
    if (!reason.empty()) return std::move(reason);
  return {};
}

}  // namespace nearpeak
