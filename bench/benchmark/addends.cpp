// SPDX-License-Identifier: Apache-2.0
#include "benchmark/addends.hpp"

namespace nearpeak {
namespace {

constexpr const char* kType = "type";

}  // namespace

Axis type_axis(const std::function<bool(const std::string& type)>& wanted) {
  Axis axis{kType, {}, "type of the numbers that are added up"};
  for (const NumberType& type : number_types())
    if (wanted(type.name)) axis.values.push_back(type.name);
  return axis;
}

Addends::Addends(const CaseContext& context)
    : type(number_type(context.axis(kType))), count(context.bytes / type.bytes) {
  if (context.bytes % type.bytes != 0)
    throw Unfit(type.name + " has " + std::to_string(type.bytes) +
                " bytes: sizes are multiples of that");
}

}  // namespace nearpeak
