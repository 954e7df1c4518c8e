// SPDX-License-Identifier: Apache-2.0
// Files that the kernel makes of counters.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nearpeak {

// One that is read again and again, from its beginning.
class CounterFile {
 public:
  explicit CounterFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~CounterFile() {
    if (file_ >= 0) close(file_);
  }
  CounterFile(CounterFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  CounterFile& operator=(CounterFile&&) = delete;

  // Nothing where it cannot be read.
  std::optional<std::string> text() const {
    if (file_ < 0) return std::nullopt;
    std::string all;
    char part[4096];
    ssize_t count = 0;
    while ((count = pread(file_, part, sizeof part, static_cast<off_t>(all.size()))) > 0)
      all.append(part, static_cast<std::size_t>(count));
    if (count < 0) return std::nullopt;
    return all;
  }

  // The number that it begins with; nothing where it begins with none.
  std::optional<std::uint64_t> number() const {
    const auto all = text();
    if (!all || all->empty() || all->front() < '0' || all->front() > '9') return std::nullopt;
    return std::strtoull(all->c_str(), nullptr, 10);
  }

 private:
  int file_;
};

// The names in a folder, sorted; none where there is no such folder.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (std::filesystem::directory_iterator entry(folder, none), end; !none && entry != end;
       entry.increment(none))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace nearpeak
