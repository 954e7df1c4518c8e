// SPDX-License-Identifier: Apache-2.0
#include "accel/opencl/listing.hpp"

#include <algorithm>
#include <sstream>

#include "accel/fnv1a.hpp"

namespace nearpeak::opencl {
namespace {

void need(int result, const char* call) {
  if (result != kSuccess) throw AcceleratorError(std::string(call) + ": " + error_name(result));
}

// Text without the zero at its end.
template <class Get>
std::string text_of(Get get, const char* call) {
  std::size_t bytes = 0;
  need(get(0, nullptr, &bytes), call);
  std::string text(bytes, '\0');
  need(get(bytes, text.data(), nullptr), call);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

class Asked {
 public:
  Asked(const Driver& driver, DeviceHandle device) : driver_(driver), device_(device) {}

  std::string text(DeviceQuery what) const {
    return text_of(
        [&](std::size_t bytes, void* value, std::size_t* size) {
          return driver_.clGetDeviceInfo(device_, what, bytes, value, size);
        },
        "clGetDeviceInfo");
  }
  template <class Value>
  Value value(DeviceQuery what) const {
    Value value{};
    need(driver_.clGetDeviceInfo(device_, what, sizeof(value), &value, nullptr), "clGetDeviceInfo");
    return value;
  }

 private:
  const Driver& driver_;
  DeviceHandle device_;
};

struct Uuid {
  unsigned char bytes[16];
};

struct Pci {
  unsigned domain, bus, device, function;
};

// "OpenCL 1.2 ...": a hundred for each major version.
int version_number(const std::string& text) {
  int major = 0;
  int minor = 0;
  if (std::sscanf(text.c_str(), "OpenCL %d.%d", &major, &minor) != 2) return 0;
  return 100 * major + minor;
}

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string each; words >> each;)
    if (each == word) return true;
  return false;
}

void describe(Listed& listed, const Driver& driver, const std::string& platform,
              std::size_t number) {
  const Asked asked(driver, listed.handle);
  DeviceInfo& info = listed.info;
  info.name = asked.text(kName);
  const std::string extensions = asked.text(kExtensions);
  std::string place = std::to_string(number);
  if (has_word(extensions, "cl_khr_pci_bus_info")) {
    const Pci pci = asked.value<Pci>(kPciInfo);
    info.pci = place = pci_text(pci.domain, pci.bus, pci.device, pci.function);
  }
  if (has_word(extensions, "cl_khr_device_uuid"))
    info.uuid = uuid_text(asked.value<Uuid>(kUuid).bytes);
  else
    info.uuid =
        derived_uuid(platform + "\n" + asked.text(kVendor) + "\n" + info.name + "\n" + place);
  info.memory_bytes = asked.value<std::uint64_t>(kGlobalBytes);
  info.l2_bytes = asked.value<std::uint64_t>(kGlobalCacheBytes);
  listed.compute_units = asked.value<unsigned>(kComputeUnits);
  listed.largest_group = asked.value<std::size_t>(kMaxWorkGroup);
  listed.alignment = asked.value<unsigned>(kBaseAlignmentBits) / 8;
  listed.has_compiler = asked.value<unsigned>(kCompilerAvailable) != 0;
  const std::string version = asked.text(kVersion);
  if (driver.has_svm && version_number(version) >= 200)
    listed.svm = asked.value<Bits>(kSvmCapabilities);
  if (version_number(version) < 102)
    info.unusable = "it offers " + version + ", OpenCL 1.2 or newer is needed";
  else if (asked.value<unsigned>(kAvailable) == 0)
    info.unusable = "its driver says that it is not available";
}

std::vector<PlatformHandle> platforms_of(const Driver& driver) {
  unsigned count = 0;
  const int result = driver.clGetPlatformIDs(0, nullptr, &count);
  if (result == kPlatformNotFound || (result == kSuccess && count == 0))
    throw BackendUnavailable(
        "there is no OpenCL platform: no driver is installed (/etc/OpenCL/vendors)");
  if (result != kSuccess) throw BackendUnavailable("clGetPlatformIDs: " + error_name(result));
  std::vector<PlatformHandle> platforms(count);
  if (const int again = driver.clGetPlatformIDs(count, platforms.data(), nullptr);
      again != kSuccess)
    throw BackendUnavailable("clGetPlatformIDs: " + error_name(again));
  return platforms;
}

std::vector<DeviceHandle> devices_of(const Driver& driver, PlatformHandle platform, Bits type) {
  unsigned count = 0;
  const int result = driver.clGetDeviceIDs(platform, type, 0, nullptr, &count);
  if (result == kDeviceNotFound) return {};
  need(result, "clGetDeviceIDs");
  std::vector<DeviceHandle> devices(count);
  if (count != 0)
    need(driver.clGetDeviceIDs(platform, type, count, devices.data(), nullptr), "clGetDeviceIDs");
  return devices;
}

struct Platform {
  PlatformHandle handle;
  std::string name;
  std::size_t listed = 0;  // devices so far
};

}  // namespace

std::string derived_uuid(const std::string& text) {
  const std::uint64_t halves[] = {fnv1a(text), fnv1a("second half\n" + text)};
  Uuid uuid;
  for (int i = 0; i < 16; ++i)
    uuid.bytes[i] = static_cast<unsigned char>(halves[i / 8] >> (8 * (i % 8)));
  uuid.bytes[6] = static_cast<unsigned char>((uuid.bytes[6] & 0x0F) | 0x80);
  uuid.bytes[8] = static_cast<unsigned char>((uuid.bytes[8] & 0x3F) | 0x80);
  return uuid_text(uuid.bytes);
}

Listing list_devices(const Driver& driver) {
  Listing listing;
  std::string trouble;  // of a platform, which does not stop the others
  std::vector<Platform> platforms;
  for (const PlatformHandle handle : platforms_of(driver)) try {
      const auto text = [&](PlatformInfo what) {
        return text_of(
            [&](std::size_t bytes, void* value, std::size_t* size) {
              return driver.clGetPlatformInfo(handle, what, bytes, value, size);
            },
            "clGetPlatformInfo");
      };
      platforms.push_back({handle, text(kPlatformName)});
      listing.platforms += (listing.platforms.empty() ? "" : "; ") + platforms.back().name + ", " +
                           text(kPlatformVersion);
    } catch (const AcceleratorError& error) {
      trouble = error.what();
    }
  for (const Bits type : {kTypeGpu, kTypeAccelerator, kTypeCpu})
    for (Platform& platform : platforms) try {
        for (const DeviceHandle handle : devices_of(driver, platform.handle, type)) {
          Listed listed{{}, handle, 1, 1, 1, false, 0};
          listed.info.index = static_cast<int>(listing.devices.size());
          try {
            describe(listed, driver, platform.name, platform.listed++);
          } catch (const AcceleratorError& error) {
            listed.info.unusable = error.what();
          }
          listing.devices.push_back(std::move(listed));
        }
      } catch (const AcceleratorError& error) {
        trouble = platform.name + ": " + error.what();
      }
  if (listing.devices.empty())
    throw BackendUnavailable(trouble.empty() ? "no platform has a device: " + listing.platforms
                                             : trouble);
  if (std::all_of(listing.devices.begin(), listing.devices.end(),
                  [](const Listed& each) { return !each.info.unusable.empty(); }))
    throw BackendUnavailable("no device can be used; device 0: " +
                             listing.devices.front().info.unusable);
  return listing;
}

}  // namespace nearpeak::opencl
