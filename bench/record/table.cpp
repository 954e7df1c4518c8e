// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "options/output.hpp"
#include "record/record.hpp"

namespace nearpeak {

void Table::line(const std::string& text) const {
  std::printf("%s\n", text.c_str());
  finish_output();
}

void Table::heading(const std::string& text) const { line("# " + text); }

void Table::columns(const std::vector<CaseResult>& results) const {
  const auto title = [](const Metric& metric) { return metric.name + " (" + metric.unit + ")"; };
  std::string over = results.front().name.over.name;
  over.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(over.front())));
  std::printf("# %-10s %16s %12s %12s %12s %8s %7s", over.c_str(),
              title(results.front().name.metric).c_str(), "best", "p05", "p95", "samples",
              "window");
  for (std::size_t i = 1; i < results.size(); ++i)
    std::printf(" %12s", title(results[i].name.metric).c_str());
  std::printf("\n");
  finish_output();
}

void Table::row(const std::vector<CaseResult>& results) const {
  const CaseResult& first = results.front();
  const auto& s = first.samples;
  const double best = first.name.metric.better == "lower" ? *std::min_element(s.begin(), s.end())
                                                          : *std::max_element(s.begin(), s.end());
  std::printf("%-12zu %16.4g %12.4g %12.4g %12.4g %8zu %7llu", first.name.size_bytes, median(s),
              best, quantile(s, 0.05), quantile(s, 0.95), s.size(),
              static_cast<unsigned long long>(first.window));
  for (std::size_t i = 1; i < results.size(); ++i)
    std::printf(" %12.4g", median(results[i].samples));
  const std::string method = first.name.method.value_or(first.by);
  std::printf("%s%s\n", method.empty() ? "" : "  ", method.c_str());
  finish_output();
}

void Table::problem(std::size_t size_bytes, const std::string& message) const {
  std::printf("%-12zu %s\n", size_bytes, message.c_str());
  finish_output();
}

}  // namespace nearpeak
