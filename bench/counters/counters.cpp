// SPDX-License-Identifier: Apache-2.0
#include "counters/counters.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "group/machine.hpp"
#include "sampling/clock.hpp"

namespace nearpeak {
namespace {

constexpr double kGlance = 0.5;      // of the time in which a counter may wrap
constexpr std::size_t kPerLink = 4;  // numbers that ranks tell each other: as in Counters::read()

// Of the network namespace, on its machine: the first one has the same number on all machines.
std::string namespace_key(const CounterScope& scope) {
  std::error_code none;
  return std::filesystem::read_symlink(scope.root + "/proc/self/ns/net", none).string();
}

// Of the GPU, on its machine. AMD's partitions of one package have a UUID each, and one table of
// counters: the package is the PCI address without its function.
std::string gpu_key(const CounterScope& scope) {
  return pci_vendor(scope) == kAmd ? scope.pci.substr(0, scope.pci.rfind('.')) : scope.gpu;
}

// Where a rank is, and its GPU, as ranks tell it each other.
struct RankScope {
  std::string machine;
  std::string network;  // namespace
  std::string gpu_key;  // empty: no GPU
  std::string gpu;
  std::string pci;
};

std::vector<RankScope> places_of(Group& group, const CounterScope& scope) {
  const std::string machine = machine_key(scope.root);
  const std::string gpu = scope.gpu.empty() ? "" : machine + " " + gpu_key(scope);
  const auto texts = group.gather(machine + '\n' + machine + ' ' + namespace_key(scope) + '\n' +
                                  gpu + '\n' + scope.gpu + '\n' + scope.pci);
  std::vector<RankScope> places;
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    RankScope& place = places.emplace_back();
    for (std::string* part :
         {&place.machine, &place.network, &place.gpu_key, &place.gpu, &place.pci})
      std::getline(lines, *part);
  }
  return places;
}

// The first rank with the same text as `rank`.
std::size_t first_with(const std::vector<RankScope>& places, std::string RankScope::* part,
                       std::size_t rank) {
  std::size_t first = 0;
  while (places[first].*part != places[rank].*part) ++first;
  return first;
}

bool has_gpu_first(const std::vector<RankScope>& places, std::size_t rank) {
  return !places[rank].gpu_key.empty() && first_with(places, &RankScope::gpu_key, rank) == rank;
}

// Links and reasons as lines, for other ranks. Reasons have no tabs or lines of their own.
std::string to_text(const OpenedSources& opened) {
  std::ostringstream out;
  out.precision(17);
  for (const auto& source : opened.sources)
    for (const CountedLink& link : source->links())
      out << "link\t" << link.kind << '\t' << link.name << '\t' << link.wraps_at << '\t'
          << link.bytes_per_s << '\n';
  for (const Unread& unread : opened.unread) {
    std::string why = unread.why;
    for (char& letter : why)
      if (letter == '\n' || letter == '\t') letter = ' ';
    out << "unread\t" << unread.kind << '\t' << why << '\n';
  }
  return out.str();
}

void take_text(const std::string& text, int rank, std::vector<RankLink>& links,
               std::vector<RankUnread>& unread) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    std::string what;
    std::string kind;
    std::string third;
    std::getline(parts, what, '\t');
    std::getline(parts, kind, '\t');
    std::getline(parts, third, '\t');
    if (what == "link") {
      CountedLink link{kind, third};
      parts >> link.wraps_at >> link.bytes_per_s;
      links.push_back({rank, link});
      continue;
    }
    const auto same = [&](const RankUnread& other) {
      return other.unread.kind == kind && other.unread.why == third;
    };
    if (std::none_of(unread.begin(), unread.end(), same)) unread.push_back({rank, {kind, third}});
  }
}

std::uint64_t after(std::uint64_t before, std::uint64_t now, std::uint64_t wraps_at) {
  if (wraps_at != 0) return (now + wraps_at - before) % wraps_at;
  return now >= before ? now - before : 0;  // somebody has set it to 0
}

// Seconds; nothing where it does not wrap, or nobody knows when.
std::optional<double> wraps_in(const CountedLink& link) {
  if (link.wraps_at == 0 || link.bytes_per_s == 0) return std::nullopt;
  return static_cast<double>(link.wraps_at) / link.bytes_per_s;
}

}  // namespace

Counters::Counters(Group& group, const CounterScope& scope) : group_(group) {
  group.barrier();  // a rank that comes later is no part of the time
  const std::int64_t begin = now_ns();
  open(scope);
  const auto texts = group.gather(to_text(opened_));
  for (int rank = 0; rank < group.size(); ++rank)
    take_text(texts[static_cast<std::size_t>(rank)], rank, links_, unread_);
  for (const auto& source : opened_.sources)
    for (std::size_t i = 0; i < source->links().size(); ++i) own_.push_back({source.get(), i});
  most_ = group.largest(own_.size());
  last_ns_ = now_ns();
  opening_us_ = group.largest(static_cast<double>(last_ns_ - begin) / 1e3);
}

void Counters::open(const CounterScope& scope) {
  const auto places = places_of(group_, scope);
  const auto rank = static_cast<std::size_t>(group_.rank());
  const std::size_t reader = first_with(places, &RankScope::machine, rank);
  opened_ = open_sources({.adapters = reader == rank,
                          .interfaces = first_with(places, &RankScope::network, rank) == rank,
                          .root = scope.root});
  for (std::size_t other = rank; reader == rank && other < places.size(); ++other)
    if (places[other].machine == places[rank].machine && has_gpu_first(places, other))
      open_gpu({.gpu = places[other].gpu, .pci = places[other].pci, .root = scope.root},
               other == rank);
  std::string seen;
  for (const auto& source : opened_.sources) seen += source->links().front().name + '\n';
  const auto seen_by = group_.gather(seen);
  if (reader != rank && has_gpu_first(places, rank) &&
      seen_by[reader].find(scope.gpu + '\n') == std::string::npos)
    open_gpu({.gpu = scope.gpu, .pci = scope.pci, .root = scope.root}, true);
}

// Another rank may see a GPU of which nothing is counted here, and has the reason.
void Counters::open_gpu(const CounterScope& scope, bool own) {
  OpenedSources gpu = open_sources(scope);
  if (gpu.sources.empty() && !own) return;
  std::move(gpu.sources.begin(), gpu.sources.end(), std::back_inserter(opened_.sources));
  std::move(gpu.unread.begin(), gpu.unread.end(), std::back_inserter(opened_.unread));
}

void Counters::take(CounterSource& source, bool wrapping) {
  const auto bytes = wrapping ? source.read_wrapping() : source.read();
  const std::int64_t now = now_ns();
  for (Own& own : own_) {
    if (own.source != &source) continue;
    const CountedLink& link = source.links()[own.index];
    if (wrapping && link.wraps_at == 0) continue;
    const auto& read = bytes[own.index];
    own.lost = own.lost || !read;
    if (own.lost) continue;
    const LinkBytes last = own.last.value_or(*read);
    own.since.sent += after(last.sent, read->sent, link.wraps_at);
    own.since.received += after(last.received, read->received, link.wraps_at);
    const double seconds = static_cast<double>(now - own.last_ns) / 1e9;
    const auto wraps_s = wraps_in(link);
    if (own.last && link.wraps_at != 0 && (!wraps_s || seconds >= *wraps_s)) own.at_least = true;
    own.last = *read;
    own.last_ns = now;
  }
}

std::optional<double> Counters::wraps_s() const {
  std::optional<double> least;
  for (const RankLink& each : links_)
    if (const auto seconds = wraps_in(each.link))
      least = std::min(*seconds, least.value_or(*seconds));
  return least;
}

void Counters::glance() {
  const std::int64_t now = now_ns();
  for (const Own& own : own_) {
    const auto seconds = wraps_in(own.source->links()[own.index]);
    if (own.last && seconds && static_cast<double>(now - own.last_ns) / 1e9 >= kGlance * *seconds)
      take(*own.source, true);
  }
  glances_ns_ += now_ns() - now;
}

CountedLinks Counters::read() {
  CountedLinks counted;
  const std::int64_t begin = now_ns();
  counted.seconds = static_cast<double>(begin - last_ns_) / 1e9;
  for (const auto& source : opened_.sources) take(*source, false);
  const double took_us = static_cast<double>(now_ns() - begin + glances_ns_) / 1e3;
  glances_ns_ = 0;
  // As doubles, which have every number of bytes below 9 PB.
  std::vector<double> mine(1 + kPerLink * most_, 0);
  mine[0] = took_us;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    Own& own = own_[i];
    double* const place = &mine[1 + kPerLink * i];
    place[0] = static_cast<double>(own.since.sent);
    place[1] = static_cast<double>(own.since.received);
    place[2] = own.at_least ? 1 : 0;
    place[3] = own.lost ? 1 : 0;
    own.since = {};
    own.at_least = false;
  }
  const auto all = group_.gather(mine);
  std::size_t link = 0;
  for (int rank = 0; rank < group_.size(); ++rank) {
    const double* const theirs = &all[static_cast<std::size_t>(rank) * mine.size()];
    counted.reading_us = std::max(counted.reading_us, theirs[0]);
    for (std::size_t i = 0; link < links_.size() && links_[link].rank == rank; ++i, ++link) {
      const double* const place = &theirs[1 + kPerLink * i];
      if (place[3] != 0) {
        counted.lost.push_back(link);
        continue;
      }
      const LinkBytes bytes{static_cast<std::uint64_t>(place[0]),
                            static_cast<std::uint64_t>(place[1])};
      if (bytes.sent != 0 || bytes.received != 0 || place[2] != 0)
        counted.on.push_back({link, bytes, place[2] != 0});
    }
  }
  last_ns_ = now_ns();
  return counted;
}

}  // namespace nearpeak
