// SPDX-License-Identifier: Apache-2.0
// Counters of bytes that the machine keeps by itself: of GPUs' links, adapters and interfaces. One
// file for each source, which registers itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nearpeak {

// Kinds of links.
inline constexpr const char* kNvlink = "nvlink";
inline constexpr const char* kPcie = "pcie";
inline constexpr const char* kXgmi = "xgmi";
inline constexpr const char* kInfiniband = "infiniband";  // and RoCE
inline constexpr const char* kSlingshot = "slingshot";
inline constexpr const char* kNetwork = "network";  // interfaces of the kernel

struct CountedLink {
  std::string kind;
  std::string name;            // the UUID of a GPU, "mlx5_0:1", "cxi0", "eth0"
  std::uint64_t wraps_at = 0;  // bytes after which its counter begins anew; 0: never
  double bytes_per_s = 0;      // no more can pass, each way; 0: not known
};

// A kind of links here that cannot be counted.
struct Unread {
  std::string kind;
  std::string why;
};

struct LinkBytes {
  std::uint64_t sent = 0;  // by the GPU or the host that has the link
  std::uint64_t received = 0;
};

class CounterSource {
 public:
  virtual ~CounterSource() = default;
  virtual const std::vector<CountedLink>& links() const = 0;
  // Bytes on each link since some time in the past; nothing for one that cannot be read now.
  virtual std::vector<std::optional<LinkBytes>> read() = 0;
  // The same of those links alone that wrap, where that is cheaper.
  virtual std::vector<std::optional<LinkBytes>> read_wrapping() { return read(); }
};

// Whose counters to read.
struct CounterScope {
  bool adapters = false;    // of this host
  bool interfaces = false;  // of this process's network namespace
  std::string gpu = "";     // the UUID of a GPU; empty: none
  std::string pci = "";     // its PCI address; empty: not known
  std::string root = "";    // where /proc and /sys are
};

struct OpenedSources {
  std::vector<std::unique_ptr<CounterSource>> sources;
  std::vector<Unread> unread;
};

using OpenSource = void (*)(const CounterScope& scope, OpenedSources& opened);
// A static object of this type in a source's file makes it known.
struct RegisterSource {
  explicit RegisterSource(OpenSource open);
};

// Of the GPU in sysfs, with a slash behind it.
std::string pci_folder(const CounterScope& scope);
inline constexpr unsigned kAmd = 0x1002;
unsigned pci_vendor(const CounterScope& scope);  // of the GPU; 0: not known

// All that can be read; what is there and cannot, with the reason.
OpenedSources open_sources(const CounterScope& scope);

}  // namespace nearpeak
