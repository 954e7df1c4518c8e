// SPDX-License-Identifier: Apache-2.0
#include "accel/accelerator.hpp"

#include <strings.h>

#include <algorithm>
#include <cstdio>

#include "options/options.hpp"

namespace nearpeak {
namespace {

std::vector<Backend>& registry() {
  static std::vector<Backend> all;
  return all;
}

}  // namespace

RegisterBackend::RegisterBackend(Backend backend) {
  auto& all = registry();
  const auto place =
      std::upper_bound(all.begin(), all.end(), backend,
                       [](const Backend& a, const Backend& b) { return a.name < b.name; });
  all.insert(place, std::move(backend));
}

const std::vector<Backend>& backends() { return registry(); }

const Backend& find_backend(const std::string& name) {
  std::vector<std::string> known;
  for (const Backend& backend : backends()) {
    if (backend.name == name) return backend;
    known.push_back(backend.name);
  }
  throw BadInput("unknown backend '" + name + "' in --devices: give one of " + comma_list(known));
}

std::unique_ptr<Accelerator> load_accelerator(const std::string& backend) {
  const std::vector<std::string> names =
      backend.empty() ? std::vector<std::string>{"cuda", "hip"} : std::vector{backend};
  std::string why;
  for (const std::string& name : names) {
    try {
      return find_backend(name).load();
    } catch (const BackendUnavailable& error) {
      why += (why.empty() ? "" : "; ") + name + " has none: " + error.what();
    }
  }
  throw BackendUnavailable(why);
}

std::string uuid_text(const unsigned char (&uuid)[16]) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", uuid[i]);
    text += digits;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

std::string pci_text(unsigned domain, unsigned bus, unsigned device, unsigned function) {
  char text[40];
  std::snprintf(text, sizeof(text), "%08x:%02x:%02x.%x", domain, bus, device, function);
  return text;
}

BufferKind buffer_kind(char letter) {
  switch (letter) {
    case 'H':
      return BufferKind::kHost;
    case 'P':
      return BufferKind::kPinned;
    case 'D':
      return BufferKind::kDevice;
    case 'M':
      return BufferKind::kManaged;
    default:
      throw BadInput(std::string("unknown kind of buffer '") + letter +
                     "': give H (host), P (pinned host), D (device) or M (managed)");
  }
}

char buffer_letter(BufferKind kind) { return "HPDM"[static_cast<int>(kind)]; }

Memory& memory_of(BufferKind kind, Memory& pinned, Memory& device, Memory& managed) {
  switch (kind) {
    case BufferKind::kPinned:
      return pinned;
    case BufferKind::kDevice:
      return device;
    case BufferKind::kManaged:
      return managed;
    case BufferKind::kHost:
      break;
  }
  return host_memory();
}

Ipc& ipc_of(Device& device) {
  if (Ipc* const ipc = device.ipc()) return *ipc;
  throw AcceleratorError("memory cannot be shared between processes with this backend");
}

Registration& registration_of(Device& device) {
  if (Registration* const registration = device.registration()) return *registration;
  throw AcceleratorError("host memory cannot be registered with this backend");
}

Kernels& kernels_of(Device& device) {
  if (device.kernels() == nullptr) throw BackendUnavailable("this backend has no kernels");
  return *device.kernels();
}

std::string why_no_kernels(Device& device) {
  Kernels* const kernels = device.kernels();
  return kernels == nullptr ? "this backend has no kernels" : kernels->unavailable();
}

int Accelerator::find_device(const std::string& text) const {
  std::vector<std::string> known;
  for (const DeviceInfo& info : devices()) {
    if (text == std::to_string(info.index) || strcasecmp(text.c_str(), info.uuid.c_str()) == 0)
      return info.index;
    known.push_back(std::to_string(info.index) + " (" + info.uuid + ")");
  }
  throw BadInput("there is no device '" + text + "': give the index or the UUID of one of " +
                 comma_list(known));
}

}  // namespace nearpeak
