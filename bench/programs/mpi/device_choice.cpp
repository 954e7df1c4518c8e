// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/device_choice.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "accel/allocators.hpp"
#include "options/launched.hpp"
#include "options/options.hpp"

namespace nearpeak {
namespace {

DeviceSpec parse_device(const std::string& text) {
  DeviceSpec spec;
  if (text == "-") {
    spec.none = true;
    return spec;
  }
  const auto colon = text.find(':');
  if (colon != std::string::npos) spec.backend = find_backend(text.substr(0, colon)).name;
  spec.device = colon == std::string::npos ? text : text.substr(colon + 1);
  if (spec.device.empty())
    throw BadInput(
        "--devices has an empty part: give an index, a UUID or - for each rank, like 0,1");
  return spec;
}

// Of "0*16", the 16.
int parse_ranks(const std::string& part, std::size_t begin) {
  constexpr int kMostRanks = 1 << 24;
  int ranks = 0;
  const char* const end = part.data() + part.size();
  const auto [rest, error] = std::from_chars(part.data() + begin, end, ranks);
  if (error != std::errc{} || rest != end || ranks < 1 || ranks > kMostRanks)
    throw BadInput("--devices has '" + part +
                   "', which is no device for so many ranks in a row: give it like 0*16");
  return ranks;
}

int find_device(const Accelerator& accelerator, const std::string& text) {
  try {
    return accelerator.find_device(text);
  } catch (const BadInput& error) {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
      if (const char* visible = std::getenv(name))
        throw BadInput(std::string(error.what()) + "; " + name + " is '" + visible + "'");
    throw;
  }
}

}  // namespace

std::vector<DeviceSpec> parse_devices(const std::string& text) {
  if (text.empty()) return {DeviceSpec{}};
  std::vector<DeviceSpec> specs;
  for (const std::string& part : split(text)) {
    const auto star = part.find('*');
    const int ranks = star == std::string::npos ? 1 : parse_ranks(part, star + 1);
    specs.insert(specs.end(), static_cast<std::size_t>(ranks), parse_device(part.substr(0, star)));
  }
  return specs;
}

DeviceChoice::DeviceChoice(const std::vector<Kinds>& kinds,
                           const std::vector<DeviceSpec>& devices) {
  const bool named = std::any_of(devices.begin(), devices.end(), [](const DeviceSpec& spec) {
    return !spec.none && !spec.device.empty();
  });
  if (!named && std::none_of(kinds.begin(), kinds.end(), need_device)) return;
  const auto rank = launched_rank();
  if (!rank)
    throw BadInput("a rank must be known before MPI is initialised, and there is none in " +
                   rank_variables() + ": start it with a launcher, like mpirun -n 2");
  rank_ = *rank;
  // Two ranks where the launcher does not say: it is looked at once MPI is initialised.
  if (std::any_of(kinds.begin(), kinds.end(), [](const Kinds& each) { return each.differ(); }))
    ranks_ = launched_ranks().value_or(2);
  const auto place = static_cast<std::size_t>(rank_);
  const bool one_for_all = devices.size() == 1;
  // Too many ranks: said where they are counted.
  if ((!one_for_all && place >= devices.size()) || (ranks_ != 0 && rank_ >= ranks_)) return;
  const DeviceSpec& spec = devices[one_for_all ? 0 : place];
  const bool needs = std::any_of(kinds.begin(), kinds.end(), [this](const Kinds& each) {
    return each.of(rank_, ranks_) != BufferKind::kHost;
  });
  // Named for a rank of host memory it is taken too, as most programs with GPUs do.
  if (!needs && (spec.none || spec.device.empty())) return;
  if (spec.none)
    throw BadInput("buffers other than H need a device, and --devices gives this rank none");
  try {
    accelerator_ = load_accelerator(spec.backend);
  } catch (const BackendUnavailable& error) {
    throw BackendUnavailable(
        std::string(needs ? "buffers other than H need a device, and " : "--devices: ") +
        error.what());
  }
  int index = 0;
  // A launcher that tells no local rank leaves the rank: whether that shares the devices of a host
  // evenly is looked at once MPI is initialised (places.cpp).
  if (spec.device.empty())
    index =
        launched_local_rank().value_or(rank_) % static_cast<int>(accelerator_->devices().size());
  else
    index = find_device(*accelerator_, spec.device);
  asked_ = spec.device.empty() ? std::to_string(index) + kByPlace : spec.device;
  device_ = &accelerator_->device(index);
  visible_ = static_cast<int>(accelerator_->devices().size());
  if (needs) why_no_kernels(*device_);  // compiled now, and not in the first case
}

void DeviceChoice::use_in_this_thread() const {
  if (device_ != nullptr) device_->use_in_this_thread();
}

Memory& DeviceChoice::memory(BufferKind kind, const std::string& allocator) const {
  return memory_from(gives(allocator, kind) ? allocator : kPlain, kind, device_);
}

std::optional<RankDevice> DeviceChoice::place() const {
  if (device_ == nullptr) return std::nullopt;
  return rank_device(device_->info());
}

}  // namespace nearpeak
