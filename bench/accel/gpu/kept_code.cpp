// SPDX-License-Identifier: Apache-2.0
#include "accel/gpu/kept_code.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "accel/fnv1a.hpp"

namespace nearpeak::gpu {
namespace {

namespace fs = std::filesystem;

fs::path& folder() {
  static fs::path& where = *new fs::path;  // threads may compile while the program ends
  return where;
}

// A file has this line, the key and the code.
std::string heading(const std::string& key, const std::string& code) {
  return "nearpeak code 1 " + std::to_string(key.size()) + " " + std::to_string(code.size()) + " " +
         std::to_string(fnv1a(code)) + "\n";
}

fs::path file_of(const std::string& key) {
  return folder() / (std::to_string(fnv1a(key)) + ".code");
}

// Code that is loaded from there is run: so it has the owner of the folder around it, in which the
// library is, and nobody else may write.
bool is_safe() {
  struct stat own{}, around{};
  return stat(folder().c_str(), &own) == 0 && S_ISDIR(own.st_mode) &&
         (own.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         stat(folder().parent_path().c_str(), &around) == 0 && own.st_uid == around.st_uid;
}

std::optional<std::string> found(const std::string& key) {
  if (!is_safe()) return std::nullopt;
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
  mkdir(folder().c_str(), S_IRWXU);
  if (!is_safe()) return;
  std::string part = folder() / "part-XXXXXX";
  const int handle = mkstemp(part.data());
  if (handle < 0) return;
  close(handle);
  std::ofstream file(part, std::ios::binary);
  file << heading(key, code) << key << code;
  file.close();
  std::error_code error;
  if (file) fs::rename(part, file_of(key), error);
  if (!file || error) fs::remove(part, error);
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

void forget_code() {
  std::error_code error;
  if (!folder().empty()) fs::remove_all(folder(), error);
}

}  // namespace nearpeak::gpu
