// SPDX-License-Identifier: Apache-2.0
#include "accel/gpu/kept_code.hpp"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace nearpeak::gpu {
namespace {

namespace fs = std::filesystem;

fs::path& folder() {
  static fs::path& where = *new fs::path;  // threads may compile while the program ends
  return where;
}

// FNV-1a, of 64 bits: for names, and for files that were cut off or damaged, not for malice: who
// can write here can write the library beside it.
std::uint64_t sum(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char each : text) value = (value ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  return value;
}

// A file has this line, the key and the code.
std::string heading(const std::string& key, const std::string& code) {
  return "nearpeak code 1 " + std::to_string(key.size()) + " " + std::to_string(code.size()) + " " +
         std::to_string(sum(code)) + "\n";
}

fs::path file_of(const std::string& key) { return folder() / (std::to_string(sum(key)) + ".code"); }

std::optional<std::string> found(const std::string& key) {
  std::ifstream file(file_of(key), std::ios::binary);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::string rest{std::istreambuf_iterator<char>(file), {}};
  if (rest.compare(0, key.size(), key) != 0) return std::nullopt;
  std::string code = rest.substr(key.size());
  return line + "\n" == heading(key, code) ? std::optional(std::move(code)) : std::nullopt;
}

// Whole or not at all, as other processes read it. What fails is not missed.
void keep(const std::string& key, const std::string& code) {
  std::error_code error;
  if (fs::create_directory(folder(), error)) fs::permissions(folder(), fs::perms::owner_all, error);
  fs::path part = file_of(key);
  part += "." + std::to_string(getpid()) + "-" +
          std::to_string(std::hash<std::thread::id>()(std::this_thread::get_id()));
  std::ofstream file(part, std::ios::binary);
  file << heading(key, code) << key << code;
  file.close();
  if (file)
    fs::rename(part, file_of(key), error);
  else
    fs::remove(part, error);
}

}  // namespace

void keep_code_in(std::string where) { folder() = std::move(where); }

std::string kept_code(const std::string& key, const std::function<std::string()>& make) {
  if (folder().empty()) return make();
  if (std::optional<std::string> code = found(key)) return *std::move(code);
  std::string code = make();
  keep(key, code);
  return code;
}

}  // namespace nearpeak::gpu
