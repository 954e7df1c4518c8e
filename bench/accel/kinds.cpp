// SPDX-License-Identifier: Apache-2.0
#include "accel/kinds.hpp"

#include <algorithm>

#include "options/options.hpp"

namespace nearpeak {

Kinds::Kinds(const std::string& text) : text_(text) {
  for (const std::string& letter : split(text)) {
    if (letter.size() != 1)
      throw BadInput("'" + text +
                     "' is not a kind of buffers: give one letter of H, P, D, M for all " +
                     "ranks, or one for each, like D,D");
    letters_.push_back(buffer_kind(letter[0]));
  }
}

void Kinds::check(int ranks) const {
  const auto count = static_cast<int>(letters_.size());
  const bool halves = ranks % 2 == 0 || letters_.front() == letters_.back();
  if (count == 1 || count == ranks || (count == 2 && halves)) return;
  throw BadInput(
      "--buffers " + text_ + " does not fit " + std::to_string(ranks) +
      " ranks: give one letter for all, like D, one for each half, like H,D, or one for " +
      "each rank");
}

BufferKind Kinds::of(int rank, int ranks) const {
  if (letters_.size() == 1) return letters_.front();
  if (static_cast<int>(letters_.size()) == ranks) return letters_[rank];
  return letters_[rank < ranks / 2 ? 0 : 1];
}

Kinds Kinds::reversed() const {
  Kinds out = *this;
  std::reverse(out.letters_.begin(), out.letters_.end());
  const auto letters = split(text_);
  out.text_.clear();
  for (auto letter = letters.rbegin(); letter != letters.rend(); ++letter)
    out.text_ += (out.text_.empty() ? "" : ",") + *letter;
  return out;
}

bool need_device(const Kinds& kinds) {
  return std::any_of(kinds.letters().begin(), kinds.letters().end(),
                     [](BufferKind kind) { return kind != BufferKind::kHost; });
}

}  // namespace nearpeak
