// SPDX-License-Identifier: Apache-2.0
#include "benchmark/selected.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace nearpeak {

std::string title(const Selected& selected) {
  std::string text = selected.benchmark->info.name + ": " + selected.benchmark->info.summary;
  for (const auto& [name, value] : selected.axes)
    if (name != kReuse && name != kTouch) text += "; " + name + " " + value;
  return text;
}

void add_axes(CLI::App& command, const std::vector<Axis>& axes, Axes& given) {
  for (const Axis& axis : axes) {
    if (axis.name == kReuse || axis.name == kTouch) continue;
    command.add_option("--" + axis.name, given[axis.name], axis.summary)
        ->check(CLI::IsMember(axis.values))
        ->default_str(axis.default_of(true));
  }
}

Axes values_of(const std::vector<Axis>& axes, Axes given, bool host, const CommonOptions& common) {
  given[kReuse] = common.reuse;
  given[kTouch] = common.touch;
  for (const Axis& axis : axes)
    if (given[axis.name].empty()) given[axis.name] = axis.default_of(host);
  return given;
}

std::vector<std::size_t> sizes_of(const BenchmarkInfo& info, const CommonOptions& common) {
  std::vector<std::size_t> sizes{0};
  if (info.sized) sizes = common.ordered_sizes(info.x.usual);
  std::erase_if(sizes, [&](std::size_t size) { return !info.has_size(size); });
  if (sizes.empty()) throw BadInput(needed_sizes(info));
  return sizes;
}

std::string needed_sizes(const BenchmarkInfo& info) {
  return info.name + " needs sizes of at least " + std::to_string(info.smallest) + " " +
         info.x.unit + (info.largest == 0 ? "" : ", and at most " + bytes_text(info.largest));
}

}  // namespace nearpeak
