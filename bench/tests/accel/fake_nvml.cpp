// SPDX-License-Identifier: Apache-2.0
// An NVML without a GPU, of the two devices of fake_cuda.cpp. Its counters move with each reading,
// as the environment's NEARPEAK_FAKE_NVML says, a comma list of
//   nvlink=KIB  pcie=BYTES  what a reading adds to what the first device sends and the second one
//   receives, from 0 and from 4096 below 4 GiB on
//   generation=N  width=N  of PCIe (5 and 16; generation 0: not known)
//   none=FIELD  the driver does not count this field   broken=1  nvmlInit_v2 fails
//   hidden=N  it does not have this device
// Each call adds its name to the file that NEARPEAK_FAKE_NVML_CALLS names, with the number of
// fields.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kUnknown = 999;
constexpr unsigned kAllLinks = ~0U;

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int type;
  int status;
  unsigned long long value;
};

struct Gpu {
  std::string uuid;
  bool sends;
  unsigned long long readings = 0;
};

unsigned long long setting(const std::string& name, unsigned long long otherwise) {
  const char* const text = std::getenv("NEARPEAK_FAKE_NVML");
  std::istringstream parts(text == nullptr ? "" : text);
  for (std::string part; std::getline(parts, part, ',');)
    if (part.rfind(name + "=", 0) == 0) return std::stoull(part.substr(name.size() + 1));
  return otherwise;
}

Gpu* gpus() {
  static Gpu all[2] = {{"", true}, {"", false}};
  if (all[0].uuid.empty())
    for (int device = 0; device < 2; ++device) {
      std::string text = "GPU-";
      for (int byte = 0; byte < 16; ++byte) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", 16 * byte + device);
        text += digits;
        if (byte == 3 || byte == 5 || byte == 7 || byte == 9) text += '-';
      }
      all[device].uuid = text;
    }
  return all;
}

void called(const std::string& name) {
  if (const char* const path = std::getenv("NEARPEAK_FAKE_NVML_CALLS"))
    std::ofstream(path, std::ios::app) << name + "\n";
}

}  // namespace

EXPORT int nvmlInit_v2() {
  called("nvmlInit_v2");
  return setting("broken", 0) != 0 ? kUnknown : 0;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  called("nvmlDeviceGetHandleByUUID");
  for (unsigned i = 0; i < 2; ++i)
    if (gpus()[i].uuid == uuid && setting("hidden", 2) != i) {
      *device = &gpus()[i];
      return 0;
    }
  return kNotFound;
}

EXPORT int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* values) {
  called("nvmlDeviceGetFieldValues " + std::to_string(count));
  Gpu& gpu = *static_cast<Gpu*>(device);
  ++gpu.readings;
  for (int i = 0; i < count; ++i) {
    FieldValue& value = values[i];
    value.status = setting("none", 0) == value.field ? kNotSupported : 0;
    const bool sent = value.field == 138 || value.field == 197;
    switch (value.field) {
      case 138:
      case 139:
        if (value.scope != kAllLinks) value.status = kNotSupported;
        value.value = sent == gpu.sends ? setting("nvlink", 0) * gpu.readings : 0;
        break;
      case 197:
      case 198:
        value.value = (1ULL << 32) - 4096;
        if (sent == gpu.sends) value.value += setting("pcie", 0) * gpu.readings;
        value.value &= 0xffffffffULL;
        break;
      default:
        value.status = kNotSupported;
    }
  }
  return 0;
}

EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
  *generation = static_cast<unsigned>(setting("generation", 5));
  return *generation == 0 ? kNotSupported : 0;
}

EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
  *width = static_cast<unsigned>(setting("width", 16));
  return 0;
}
