// SPDX-License-Identifier: Apache-2.0
// What the layer knows of requests, by their handles: numbers in some ABIs, addresses in others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nearpeak::layer {

// Open addressing: each record is at the first free place from that of its handle on. Who asks for
// one that is not there looks at a place or two.
template <typename Handle, typename Record>
class RequestTable {
 public:
  RequestTable() : places_(kLeast) {}

  bool empty() const { return count_ == 0; }
  // Null where it is not known.
  Record* find(Handle handle) const {
    if (count_ == 0) return nullptr;
    const Place& found = places_[place_of(handle)];
    return found.record;
  }
  // Of a handle that has a record already, what was before is returned.
  Record* put(Handle handle, Record* record) {
    if (2 * (count_ + 1) > places_.size()) grow();
    Place& place = places_[place_of(handle)];
    if (place.record == nullptr) ++count_;
    place.handle = handle;
    return std::exchange(place.record, record);
  }
  void drop(Handle handle) {
    if (count_ == 0) return;
    std::size_t hole = place_of(handle);
    if (places_[hole].record == nullptr) return;
    // Those behind it that would have stood there, or before, move up.
    for (std::size_t next = after(hole); places_[next].record != nullptr; next = after(next)) {
      const std::size_t home = home_of(places_[next].handle);
      const bool stays = hole <= next ? hole < home && home <= next : hole < home || home <= next;
      if (stays) continue;
      places_[hole] = places_[next];
      hole = next;
    }
    places_[hole].record = nullptr;
    --count_;
  }
  template <typename Do>
  void each(const Do& what) const {
    for (const Place& place : places_)
      if (place.record != nullptr) what(*place.record);
  }

 private:
  static constexpr std::size_t kLeast = 256;  // a power of two, as every size is
  struct Place {
    Handle handle{};
    Record* record = nullptr;
  };

  std::size_t after(std::size_t place) const { return (place + 1) & (places_.size() - 1); }
  std::size_t home_of(Handle handle) const {
    return (((std::uint64_t)handle * 0x9E3779B97F4A7C15U) >> 32U) & (places_.size() - 1);  // NOLINT
  }
  std::size_t place_of(Handle handle) const {
    std::size_t place = home_of(handle);
    while (places_[place].record != nullptr && places_[place].handle != handle)
      place = after(place);
    return place;
  }
  void grow() {
    std::vector<Place> old(2 * places_.size());
    old.swap(places_);
    count_ = 0;
    for (const Place& place : old)
      if (place.record != nullptr) put(place.handle, place.record);
  }

  std::vector<Place> places_;
  std::size_t count_ = 0;
};

}  // namespace nearpeak::layer
