// SPDX-License-Identifier: Apache-2.0
// Which memory the ranks' buffers are in: --buffers.
#pragma once

#include <string>
#include <vector>

#include "accel/accelerator.hpp"

namespace nearpeak {

// The kinds of the ranks' buffers, as --buffers gives them.
class Kinds {
 public:
  // "D" for all ranks, "H,D" for the first half of them and for the second, or as many letters as
  // there are ranks. Throws BadInput.
  explicit Kinds(const std::string& text);

  // Throws BadInput unless they say something of each of so many ranks.
  void check(int ranks) const;
  BufferKind of(int rank, int ranks) const;
  // Whether ranks differ, so that their number has to be known.
  bool differ() const { return letters_.size() > 1; }
  // The same seen from the last rank: D,H of H,D.
  Kinds reversed() const;
  const std::vector<BufferKind>& letters() const { return letters_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<BufferKind> letters_;
};

// Whether some rank's buffers are memory that only a device's driver gives.
bool need_device(const Kinds& kinds);

}  // namespace nearpeak
