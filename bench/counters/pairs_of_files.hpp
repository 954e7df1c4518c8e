// SPDX-License-Identifier: Apache-2.0
// Links of which each has a file for what is sent, and one for what is received.
#pragma once

#include "counters/files.hpp"
#include "counters/source.hpp"

namespace nearpeak {

class PairsOfFiles final : public CounterSource {
 public:
  explicit PairsOfFiles(std::uint64_t unit_bytes) : unit_bytes_(unit_bytes) {}

  // The link of a folder; one whose files cannot be read is left out.
  void add(const char* kind, const std::string& name, const std::string& folder, const char* sent,
           const char* received) {
    CounterFile out(folder + sent);
    CounterFile in(folder + received);
    if (!out.number() || !in.number()) {
      without_ += (without_.empty() ? "" : ", ") + name;
      return;
    }
    links_.push_back({kind, name});
    files_.emplace_back(std::move(out), std::move(in));
  }
  // Those left out, by their names.
  const std::string& without() const { return without_; }

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
  std::string without_;
  std::vector<CountedLink> links_;
  std::vector<std::pair<CounterFile, CounterFile>> files_;
};

// Gives what it has, and what it had to leave out.
inline void give(std::unique_ptr<PairsOfFiles> pairs, const char* kind, const std::string& file,
                 OpenedSources& opened) {
  if (!pairs->without().empty())
    opened.unread.push_back({kind, "no " + file + " that can be read: " + pairs->without()});
  if (!pairs->links().empty()) opened.sources.push_back(std::move(pairs));
}

}  // namespace nearpeak
