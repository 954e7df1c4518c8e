// SPDX-License-Identifier: Apache-2.0
// Network interfaces, with lo. From /proc/net/dev, which is that of this process's network
// namespace, while /sys/class/net is that of whoever mounted /sys.
#include <map>
#include <sstream>

#include "counters/files.hpp"
#include "counters/source.hpp"

namespace nearpeak {
namespace {

// `name: bytes packets errs drop fifo frame compressed multicast bytes ...`: received, then sent.
std::map<std::string, LinkBytes> interfaces_in(const std::string& text) {
  std::map<std::string, LinkBytes> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(line.find_first_not_of(' '));
    std::istringstream numbers(line.substr(colon + 1));
    LinkBytes bytes;
    std::uint64_t other = 0;
    numbers >> bytes.received;
    for (int i = 0; i < 7; ++i) numbers >> other;
    if (numbers >> bytes.sent) all[name.substr(0, name.rfind(':'))] = bytes;
  }
  return all;
}

class Interfaces final : public CounterSource {
 public:
  explicit Interfaces(const std::string& path) : file_(path) {
    if (const auto text = file_.text())
      for (const auto& [name, bytes] : interfaces_in(*text)) links_.push_back({kNetwork, name});
  }

  const std::vector<CountedLink>& links() const override { return links_; }
  std::vector<std::optional<LinkBytes>> read() override {
    const auto text = file_.text();
    const auto now = text ? interfaces_in(*text) : std::map<std::string, LinkBytes>{};
    std::vector<std::optional<LinkBytes>> all;
    for (const CountedLink& link : links_) {
      const auto found = now.find(link.name);
      all.push_back(found == now.end() ? std::nullopt : std::optional(found->second));
    }
    return all;
  }

 private:
  CounterFile file_;
  std::vector<CountedLink> links_;
};

const RegisterSource network([](const CounterScope& scope, OpenedSources& opened) {
  if (!scope.interfaces) return;
  auto all = std::make_unique<Interfaces>(scope.root + "/proc/self/net/dev");
  if (all->links().empty())
    opened.unread.push_back({kNetwork, "/proc/self/net/dev lists no interface"});
  else
    opened.sources.push_back(std::move(all));
});

}  // namespace
}  // namespace nearpeak
