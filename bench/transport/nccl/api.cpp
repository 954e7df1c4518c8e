// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/api.hpp"

#include "accel/library.hpp"

namespace nearpeak::nccl {

std::string version_text(int version) {
  const int major = version < 10000 ? 1000 : 10000;  // until 2.8, and since
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." +
         std::to_string(version % 100);
}

std::string Api::name() const {
  const bool amd = file.find("rccl") != std::string::npos;
  return std::string(amd ? "RCCL " : "NCCL ") + version_text(version);
}

std::string Api::text() const { return name() + ", " + file; }

std::string why_without(const Api& api, const std::string& function) {
#define NEARPEAK_SAY(symbol, first, ...)            \
  if (function == #symbol && api.symbol == nullptr) \
    return api.name() + " has no " + function + ": " + version_text(first) + " is the first";
  NEARPEAK_NCCL_LATER_FUNCTIONS(NEARPEAK_SAY)
#undef NEARPEAK_SAY
  return "";
}

Api load(const std::string& library) {
  const Library loaded(library.empty() ? std::vector<std::string>{"libnccl.so.2", "librccl.so.1"}
                                       : std::vector<std::string>{library});
  Api api;
  api.file = loaded.name();
  const auto need = [&](auto*& function, const char* symbol) {
    if (!loaded.find(function, symbol))
      throw BackendUnavailable(loaded.name() + " has no " + symbol + ": it is too old, or no NCCL");
  };
#define NEARPEAK_FIND(name, ...) need(api.name, #name);
  NEARPEAK_NCCL_FUNCTIONS(NEARPEAK_FIND)
#undef NEARPEAK_FIND
#define NEARPEAK_FIND(name, ...) loaded.find(api.name, #name);
  NEARPEAK_NCCL_LATER_FUNCTIONS(NEARPEAK_FIND)
#undef NEARPEAK_FIND
  need(api.ncclGetErrorString, "ncclGetErrorString");
  loaded.find(api.ncclGetLastError, "ncclGetLastError");
  if (const int result = api.ncclGetVersion(&api.version); result != kSuccess)
    throw BackendUnavailable(loaded.name() + ": ncclGetVersion: " + api.ncclGetErrorString(result));
  return api;
}

}  // namespace nearpeak::nccl
