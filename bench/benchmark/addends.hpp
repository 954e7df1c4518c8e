// SPDX-License-Identifier: Apache-2.0
// The numbers of operations that add them up.
#pragma once

#include <functional>
#include <string>

#include "benchmark/benchmark.hpp"
#include "payload/numbers.hpp"

namespace nearpeak {

// Their types: those of payload/numbers.hpp that are wanted.
Axis type_axis(const std::function<bool(const std::string& type)>& wanted);

// Their type, and how many `context.bytes` are. Throws Unfit where the bytes are no multiple of it.
struct Addends {
  explicit Addends(const CaseContext& context);
  const NumberType& type;
  std::size_t count;
};

}  // namespace nearpeak
