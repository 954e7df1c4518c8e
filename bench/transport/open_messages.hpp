// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace nearpeak {

// Sends or receives that were begun, in order.
struct OpenMessage {
  std::size_t slot;
  std::size_t bytes;
};
class OpenMessages {
 public:
  bool empty() const { return first_ == all_.size(); }
  OpenMessage& front() { return all_[first_]; }
  void push(const OpenMessage& one) { all_.push_back(one); }
  void pop() {
    if (++first_ == all_.size()) {
      all_.clear();
      first_ = 0;
    }
  }

 private:
  std::vector<OpenMessage> all_;
  std::size_t first_ = 0;
};

}  // namespace nearpeak
