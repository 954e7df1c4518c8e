// SPDX-License-Identifier: Apache-2.0
#include "layer/world/settings.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "layer/copy/file_server.hpp"
#include "layer/world/envelope.hpp"
#include "options/options.hpp"

namespace nearpeak::layer {
namespace {

constexpr unsigned long kMostInlineBytes = 1UL << 20;
// From here on an envelope and the start of the copies cost less than the way through host memory.
constexpr unsigned long kLongBytes = 1UL << 16;
constexpr unsigned long kMostLongBytes = 1UL << 40;
// From here on a kernel's launch costs less than the way through host memory.
constexpr unsigned long kDirectBytes = 4096;
constexpr unsigned long kPatienceMs = 10;
constexpr unsigned long kHandshakeSeconds = 30;
constexpr unsigned long kKernelUs = 200;
constexpr unsigned long kMostKernelUs = 1000000;
// Some copies of a persistent copy kernel; little beside the turn of a context.
constexpr unsigned long kMoverPatienceUs = 20;
constexpr unsigned long kMostMoverPatienceUs = 1000000;
constexpr unsigned long kMostHelpers = 16;
constexpr unsigned long kMostSeconds = 86400;

unsigned long number(const char* variable, unsigned long least, unsigned long most,
                     unsigned long usual) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return usual;
  char* end = nullptr;
  errno = 0;
  const unsigned long value = std::strtoul(text, &end, 10);
  const bool digits = text[0] >= '0' && text[0] <= '9' && *end == '\0';
  if (!digits || errno != 0 || value < least || value > most)
    throw BadInput(std::string(variable) + " is '" + text + "': give a number from " +
                   std::to_string(least) + " to " + std::to_string(most));
  return value;
}

// The first word is the usual one.
bool is_first(const char* variable, const std::string& first, const std::string& second) {
  const char* const word = std::getenv(variable);
  const std::string mode = word == nullptr || *word == '\0' ? first : word;
  if (mode != first && mode != second)
    throw BadInput(std::string(variable) + " is '" + mode + "': give " + first + " or " + second);
  return mode == first;
}

constexpr const char* kHostWays[]{"staged", "pieces", "kept"};  // of each HostWay

HostWay host_way() {
  const char* const variable = "NEARPEAK_LAYER_HOST";
  const char* const word = std::getenv(variable);
  const std::string way = word == nullptr || *word == '\0' ? "pieces" : word;
  for (std::size_t i = 0; i < std::size(kHostWays); ++i)
    if (way == kHostWays[i]) return static_cast<HostWay>(i);
  throw BadInput(std::string(variable) + " is '" + way + "': give staged, pieces or kept");
}

std::string folder() {
  const char* const variable = "NEARPEAK_LAYER_MEET";
  for (const char* const name : {variable, "TMPDIR"}) {
    const char* const text = std::getenv(name);
    if (text == nullptr || *text == '\0') continue;
    if (*text == '/' && std::strlen(text) <= Doors::kMostOfFolder) return text;
    if (name == variable)
      throw BadInput(std::string(variable) + " is '" + text + "': give a path of at most " +
                     std::to_string(Doors::kMostOfFolder) + " letters that begins with /");
  }
  return "/tmp";
}

}  // namespace

Settings settings_of_environment() {
  const char* const word = std::getenv("NEARPEAK_LAYER");
  const std::string mode = word == nullptr || *word == '\0' ? "on" : word;
  if (mode != "on" && mode != "off" && mode != "require")
    throw BadInput("NEARPEAK_LAYER is '" + mode + "': give on, off or require");
  Settings settings;
  settings.off = mode == "off";
  settings.required = mode == "require";
  settings.inline_bytes = number("NEARPEAK_LAYER_INLINE", 0, kMostInlineBytes, 0);
  settings.long_bytes = number("NEARPEAK_LAYER_LONG", kEnvelopeBytes, kMostLongBytes, kLongBytes);
  settings.between_bytes = number("NEARPEAK_LAYER_BETWEEN", 0, kMostLongBytes, 0);
  settings.direct_bytes = number("NEARPEAK_LAYER_DIRECT", 0, kMostLongBytes, kDirectBytes);
  settings.patience = std::chrono::milliseconds(
      number("NEARPEAK_LAYER_PATIENCE", 0, 1000 * kMostSeconds, kPatienceMs));
  settings.handshake =
      std::chrono::seconds(number("NEARPEAK_LAYER_HANDSHAKE", 1, kMostSeconds, kHandshakeSeconds));
  settings.kernel =
      std::chrono::microseconds(number("NEARPEAK_LAYER_KERNEL", 0, kMostKernelUs, kKernelUs));
  settings.copy_proxy = is_first("NEARPEAK_LAYER_MOVER", "on", "off");
  settings.proxy_patience = std::chrono::microseconds(
      number("NEARPEAK_LAYER_MOVER_PATIENCE", 0, kMostMoverPatienceUs, kMoverPatienceUs));
  const unsigned long report = number("NEARPEAK_LAYER_REPORT", 0, 2, 0);
  settings.report = report > 0;
  settings.by_length = report > 1;
  settings.keeps_code = is_first("NEARPEAK_LAYER_CODE", "kept", "fresh");
  settings.host = host_way();
  settings.copy_helpers = number("NEARPEAK_LAYER_HELPERS", 0, kMostHelpers, 0);
  settings.awaits_default_stream = !is_first("NEARPEAK_LAYER_STREAM", "none", "legacy");
  settings.folder = folder();
  return settings;
}

std::string told(const Settings& settings) {
  const auto named = [](const char* name, auto value) {
    return " NEARPEAK_LAYER_" + std::string(name) + "=" + std::to_string(value);
  };
  return "NEARPEAK_LAYER_HOST=" + std::string(kHostWays[static_cast<int>(settings.host)]) +
         named("INLINE", settings.inline_bytes) + named("LONG", settings.long_bytes) +
         named("BETWEEN", settings.between_bytes) + named("KERNEL", settings.kernel.count()) +
         named("PATIENCE", settings.patience.count()) + named("HELPERS", settings.copy_helpers) +
         " NEARPEAK_LAYER_MOVER=" + (settings.copy_proxy ? "on" : "off");
}

}  // namespace nearpeak::layer
