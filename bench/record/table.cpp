// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "record/record.hpp"

namespace nearpeak {

void Table::line(const std::string& text) const {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

void Table::heading(const std::string& text) const { line("# " + text); }

void Table::columns(const std::string& metric, const std::string& unit) {
  const std::string title = metric + " (" + unit + ")";
  std::printf("# %-10s %16s %12s %12s %12s %8s %7s\n", "Size", title.c_str(), "best", "p05", "p95",
              "samples", "window");
  std::fflush(stdout);
}

void Table::row(const CaseResult& result) const {
  const auto& s = result.samples;
  const double best = result.name.metric.better == "lower" ? *std::min_element(s.begin(), s.end())
                                                           : *std::max_element(s.begin(), s.end());
  std::printf("%-12zu %16.4g %12.4g %12.4g %12.4g %8zu %7llu%s%s\n", result.name.size_bytes,
              median(s), best, quantile(s, 0.05), quantile(s, 0.95), s.size(),
              static_cast<unsigned long long>(result.window), result.name.method ? "  " : "",
              result.name.method ? result.name.method->c_str() : "");
  std::fflush(stdout);
}

void Table::problem(std::size_t size_bytes, const std::string& message) const {
  std::printf("%-12zu %s\n", size_bytes, message.c_str());
  std::fflush(stdout);
}

}  // namespace nearpeak
