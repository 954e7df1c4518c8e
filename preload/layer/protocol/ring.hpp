// SPDX-License-Identifier: Apache-2.0
// Operations of one type that are looked at in turn.
#pragma once

namespace nearpeak::layer {

// Links an operation with those beside it, by its `before` and `after`: it is in one ring at most.
template <typename Operation>
class Ring {
 public:
  bool empty() const { return first_ == nullptr; }
  // Null where there is none.
  Operation* first() const { return first_; }
  void add(Operation& operation) {
    operation.after = nullptr;
    operation.before = last_;
    (last_ == nullptr ? first_ : last_->after) = &operation;
    last_ = &operation;
  }
  void remove(Operation& operation) {
    if (next_ == &operation) next_ = operation.after;
    (operation.before == nullptr ? first_ : operation.before->after) = operation.after;
    (operation.after == nullptr ? last_ : operation.after->before) = operation.before;
    operation.before = operation.after = nullptr;
  }
  // Does `what`, which may remove any, with the next few: those behind the few of the time before,
  // and then from the first on.
  template <typename What>
  void some(const What& what) {
    constexpr int kMost = 8;
    if (next_ == nullptr) next_ = first_;
    for (int i = 0; i < kMost && next_ != nullptr; ++i) {
      Operation& operation = *next_;
      next_ = operation.after;
      what(operation);
    }
  }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
  Operation* next_ = nullptr;  // for some(); null: the first
};

}  // namespace nearpeak::layer
