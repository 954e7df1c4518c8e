// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace nearpeak::calls {

// What is known of handles: for all threads, until each is freed. It is read without a lock: what
// is no longer needed is used again, never given back.
template <typename Handle, typename Value>
class Handles {
 public:
  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    for (auto& head : heads_)
      for (Node* node = head.load(); node != nullptr;) delete std::exchange(node, node->next);
  }

  // Null where it is not known.
  const Value* find(Handle handle) const {
    for (const Node* node = heads_[slot(handle)].load(std::memory_order_acquire); node != nullptr;
         node = node->next)
      if (node->known.load(std::memory_order_acquire) &&
          node->handle.load(std::memory_order_acquire) == handle)
        return &node->value;
    return nullptr;
  }

  const Value* put(Handle handle, Value value) {
    const std::lock_guard lock(writing_);
    // Another thread may have asked for the same meanwhile.
    if (const Value* const found = find(handle)) return found;
    auto& head = heads_[slot(handle)];
    Node* node = head.load();
    while (node != nullptr && node->known.load()) node = node->next;
    const bool fresh = node == nullptr;
    if (fresh) node = new Node;
    // The handle behind its value: who saw that this node was known may look at it only now.
    node->value = std::move(value);
    node->handle.store(handle, std::memory_order_release);
    node->known.store(true, std::memory_order_release);
    if (fresh) {
      node->next = head.load();
      head.store(node, std::memory_order_release);
    }
    return &node->value;
  }

  void drop(Handle handle) {
    const std::lock_guard lock(writing_);
    for (Node* node = heads_[slot(handle)].load(); node != nullptr; node = node->next)
      if (node->known.load() && node->handle.load() == handle) node->known.store(false);
  }

 private:
  struct Node {
    std::atomic<Handle> handle;
    std::atomic<bool> known{false};
    Value value{};
    Node* next = nullptr;
  };

  // Handles are numbers in some ABIs, addresses in others.
  static std::size_t slot(Handle handle) {
    return ((std::uint64_t)handle * 0x9E3779B97F4A7C15U) >> 56U;  // NOLINT
  }

  std::array<std::atomic<Node*>, 256> heads_{};
  std::mutex writing_;
};

}  // namespace nearpeak::calls
