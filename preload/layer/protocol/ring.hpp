// SPDX-License-Identifier: Apache-2.0
// Operations of one type that are looked at in turn.
#pragma once

namespace nearpeak::layer {

// Links an operation with those beside it, by its `before` and `after`: it is in one ring at most.
template <typename Operation>
class Ring {
 public:
  bool empty() const { return first_ == nullptr; }
  void add(Operation& operation) {
    operation.after = nullptr;
    operation.before = last_;
    (last_ == nullptr ? first_ : last_->after) = &operation;
    last_ = &operation;
  }
  void remove(Operation& operation) {
    (operation.before == nullptr ? first_ : operation.before->after) = operation.after;
    (operation.after == nullptr ? last_ : operation.after->before) = operation.before;
    operation.before = operation.after = nullptr;
  }
  // Does `what` with the first few, which are the last then, but for those that it removes.
  template <typename What>
  void some(const What& what) {
    constexpr int kMost = 64;
    Operation* const last = last_;
    for (int i = 0; i < kMost && first_ != nullptr; ++i) {
      Operation& operation = *first_;
      remove(operation);
      add(operation);
      const bool end = &operation == last;
      what(operation);
      if (end) break;
    }
  }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
};

}  // namespace nearpeak::layer
