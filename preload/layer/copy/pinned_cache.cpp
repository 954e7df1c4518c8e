// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/pinned_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "accel/abandoned.hpp"

namespace nearpeak::layer {

Range pages_within(const Range& bytes) {
  const std::uintptr_t page = page_bytes();
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(bytes.begin) + page - 1) / page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(bytes.end) / page;
  if (end <= begin) return {};
  return {reinterpret_cast<char*>(begin * page), reinterpret_cast<char*>(end * page)};  // NOLINT
}

PinnedCache::AllPinned::const_iterator PinnedCache::pinned_with(const Range& pages) const {
  if (pages.bytes() == 0) return pinned_.end();
  const auto found = pinned_.upper_bound(pages.begin);
  return found != pinned_.end() && found->second.pages.has(pages) ? found : pinned_.end();
}

Range PinnedCache::part_of(const Range& bytes) {
  const Range pages = pages_within(bytes);
  if (pages.bytes() == 0) return {};
  const auto found = pinned_with(pages);
  if (found != pinned_.end()) {
    // In this order: what has gone before is known then.
    const bool steady = watch_.steady(found->second.pages);
    drop_gone();
    const auto still = pinned_with(pages);
    if (!steady || still == pinned_.end()) return {};
    pinned_.at(still->first).last = ++uses_;
    return pages;
  }
  drop_gone();
  return devices_.pinned(bytes.begin, bytes.bytes()) ? bytes : Range{};
}

bool PinnedCache::is_pinned_by_application(const Range& bytes) {
  drop_gone();
  const auto next = pinned_.upper_bound(bytes.begin);
  if (next != pinned_.end() && next->second.pages.meets(bytes)) return false;
  return devices_.pinned(bytes.begin, bytes.bytes());
}

bool PinnedCache::used(const Range& bytes) {
  if (used_bytes_.size() >= kMostUsed) used_bytes_.clear();
  int& times = used_bytes_[{bytes.begin, bytes.bytes()}];
  return times != kRefused && times++ > 0;
}

void PinnedCache::keep(int device, const Range& bytes) {
  drop_gone();
  Range pages = pages_within(bytes);
  if (pages.bytes() == 0) return;
  // One that meets it is pinned anew with it: the driver pins no page twice.
  for (auto each = pinned_.upper_bound(pages.begin); each != pinned_.end();) {
    const Range other = each->second.pages;
    if (!other.meets(pages)) break;
    pages = {std::min(pages.begin, other.begin), std::max(pages.end, other.end)};
    drop(each++);
  }
  drop_for(pages.bytes());
  if (bytes_ + pages.bytes() > kMostBytes) return;
  int& times = used_bytes_[{bytes.begin, bytes.bytes()}];
  times = kRefused;
  // In this order: the kernel tells of what goes meanwhile.
  if (!watch_.begin(pages)) return;
  try {
    auto memory = devices_.pin(device, pages.begin, pages.bytes());
    if (Watch::are_private(pages)) {
      bytes_ += pages.bytes();
      pinned_[pages.end] = {pages, device, std::move(memory), ++uses_};
      times = 1;
      return;
    }
  } catch (const AcceleratorError&) {
    // Memory that cannot be written, or of which the application has pinned a part.
  } catch (const AcceleratorOutOfMemory&) {
  }
  watch_.end(pages);
}

void PinnedCache::drop(AllPinned::iterator each) {
  bytes_ -= each->second.pages.bytes();
  watch_.end(each->second.pages);
  pinned_.erase(each);
}

void PinnedCache::drop_gone() {
  for (const Range& gone : watch_.gone()) {
    for (auto each = pinned_.upper_bound(gone.begin); each != pinned_.end();) {
      if (!each->second.pages.meets(gone)) break;
      drop(each++);
    }
    // What comes there is used for the first time.
    std::erase_if(used_bytes_, [&](const auto& each) {
      const auto& [begin, bytes] = each.first;
      return Range{begin, begin + bytes}.meets(gone);
    });
  }
}

// Those that were not used for long make room.
void PinnedCache::drop_for(std::size_t bytes) {
  while (!pinned_.empty() && bytes_ + bytes > kMostBytes) {
    const auto oldest = std::min_element(
        pinned_.begin(), pinned_.end(),
        [](const auto& one, const auto& other) { return one.second.last < other.second.last; });
    if (uses_ - oldest->second.last < kLong) return;
    drop(oldest);
  }
}

void PinnedCache::forget(int device) {
  for (auto each = pinned_.begin(); each != pinned_.end();) {
    const auto pinned = each++;
    if (pinned->second.device != device) continue;
    abandon(pinned->second.memory);
    drop(pinned);
  }
}

void PinnedCache::end() {
  while (!pinned_.empty()) drop(pinned_.begin());
  watch_.stop();
}

}  // namespace nearpeak::layer
