// SPDX-License-Identifier: Apache-2.0
// Who takes part in a measurement: over MPI (mpi/mpi_group.hpp), over shared memory (shared.hpp),
// over sockets (socket.hpp), or alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

namespace nearpeak {

inline constexpr int kLeaderRank = 0;

// Every call is collective: all members make the same calls in the same order.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool leads() const { return rank() == kLeaderRank; }
  // The other ranks, the one behind this rank first: if every rank turns to them in this order, no
  // two turn to the same one.
  std::vector<int> others() const;

  virtual void barrier() = 0;
  // The leader's bytes, to all.
  virtual void broadcast(void* data, std::size_t bytes) = 0;
  // Whether members may open each other's files, by what they tell of them: not where that comes
  // over a network by itself.
  virtual bool hands_over_files() const { return true; }
  // `bytes` of every member, in the order of the ranks, into `all` of every member.
  virtual void gather(const void* mine, std::size_t bytes, void* all) = 0;

  template <class T>
  T broadcast(T leaders_value) {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast(&leaders_value, sizeof(T));
    return leaders_value;
  }
  template <class T>
  std::vector<T> gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
    std::vector<T> all(static_cast<std::size_t>(size()));
    gather(&mine, sizeof(T), all.data());
    return all;
  }
  template <class T>
  T largest(const T& mine) {
    const std::vector<T> all = gather(mine);
    return *std::max_element(all.begin(), all.end());
  }
  // Added up in the order of the ranks.
  template <class T>
  T total(const T& mine) {
    const std::vector<T> all = gather(mine);
    return std::accumulate(all.begin(), all.end(), T{});
  }
  // As many values of every member, one member after the other.
  std::vector<double> gather(const std::vector<double>& mine);
  // Throws std::runtime_error where a text is longer than kMostText.
  std::vector<std::string> gather(const std::string& mine);
  static constexpr std::size_t kMostText = std::size_t{16} << 20;
  // Whether it is so on every rank.
  bool everywhere(bool mine);
  // The reason of the first rank that has one, known to all; empty where none has.
  std::string first_reason(const std::string& mine);
};

// One process, one thread.
class Alone final : public Group {
 public:
  int rank() const override { return kLeaderRank; }
  int size() const override { return 1; }
  void barrier() override {}
  void broadcast(void*, std::size_t) override {}
  void gather(const void* mine, std::size_t bytes, void* all) override {
    std::memcpy(all, mine, bytes);
  }
  using Group::broadcast;
  using Group::gather;
};

}  // namespace nearpeak
