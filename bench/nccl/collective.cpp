// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

#include <map>

namespace nearpeak::nccl {
namespace {

constexpr int kFirstWithBfloat16 = 21000;

const std::map<std::string, DataType>& types() {
  static const std::map<std::string, DataType> all{{"float", kFloat32},
                                                   {"int", kInt32},
                                                   {"double", kFloat64},
                                                   {"half", kFloat16},
                                                   {"bfloat16", kBfloat16}};
  return all;
}

}  // namespace

Elements::Elements(const CaseContext& context) : Addends(context), nccl(types().at(type.name)) {
  const int version = communicator_of(context.group).api().version;
  if (nccl == kBfloat16 && version < kFirstWithBfloat16)
    throw Unfit("NCCL " + version_text(version) + " has no " + type.name + ": 2.10 is the first");
}

Axis type_axis() {
  return nearpeak::type_axis([](const std::string& type) { return types().contains(type); });
}

}  // namespace nearpeak::nccl
