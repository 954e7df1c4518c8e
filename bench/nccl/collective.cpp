// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

#include <map>

namespace nearpeak::nccl {
namespace {

constexpr int kFirstWithBfloat16 = 21000;
constexpr int kFirstInGraphs = 20900;

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

void check_recordable(const Api& api) {
  if (api.version < kFirstInGraphs)
    throw Unfit(api.name() + " cannot be called in a graph: 2.9 is the first");
}

Axis calls_axis() {
  return {.name = kCalls,
          .values = {kBlocking, kEnqueued, kGrouped, kGraph},
          .summary =
              "blocking: every operation is waited for, as a blocking call of MPI is; "
              "enqueued: 20 in the stream, as in nccl-tests; grouped: 20 in one group; "
              "graph: 20 in one graph; of these the time of one",
          .usual = {kBlocking, kGraph}};
}

Axis register_axis(Symmetric symmetric) {
  Axis axis{.name = kRegister,
            .values = {kNone, kLocal},
            .summary =
                "buffers; none: as the driver allocates them; local: from ncclMemAlloc, and "
                "registered by ncclCommRegister; symmetric: registered as symmetric windows "
                "by ncclCommWindowRegister",
            .implied = true};
  if (symmetric == Symmetric::kNo) return axis;
  axis.values.push_back(kSymmetric);
  axis.usual = {kNone, kSymmetric};
  return axis;
}

Axis type_axis() {
  return nearpeak::type_axis([](const std::string& type) { return types().contains(type); });
}

}  // namespace nearpeak::nccl
