// SPDX-License-Identifier: Apache-2.0
// Links of which each has a file for what is sent, and one for what is received.
#pragma once

#include "counters/files.hpp"
#include "counters/source.hpp"

namespace nearpeak {

class PairsOfFiles final : public CounterSource {
 public:
  explicit PairsOfFiles(std::uint64_t unit_bytes) : unit_bytes_(unit_bytes) {}

  // False, and not taken, where one of the files cannot be read.
  bool add(CountedLink link, const std::string& sent, const std::string& received) {
    CounterFile out(sent);
    CounterFile in(received);
    if (!out.number() || !in.number()) return false;
    links_.push_back(std::move(link));
    files_.emplace_back(std::move(out), std::move(in));
    return true;
  }

  const std::vector<CountedLink>& links() const override { return links_; }
  std::vector<std::optional<LinkBytes>> read() override {
    std::vector<std::optional<LinkBytes>> all;
    for (const auto& [out, in] : files_) {
      const auto sent = out.number();
      const auto received = in.number();
      auto& bytes = all.emplace_back();
      if (sent && received) bytes = LinkBytes{*sent * unit_bytes_, *received * unit_bytes_};
    }
    return all;
  }

 private:
  const std::uint64_t unit_bytes_;
  std::vector<CountedLink> links_;
  std::vector<std::pair<CounterFile, CounterFile>> files_;
};

}  // namespace nearpeak
