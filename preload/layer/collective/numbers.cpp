// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/numbers.hpp"

#include <vector>

#include "layer/datatype/types.hpp"

namespace nearpeak::layer {
namespace {

using Kind = Combination::Kind;
using Operation = Combination::Operation;

// Handles are addresses in the library in some ABIs.
#ifdef OMPI_MAJOR_VERSION
#define HANDLE(Handle, name, symbol) calls::handle<Handle>("ompi_mpi_" #symbol)
#else
#define HANDLE(Handle, name, symbol) name
#endif
#define TYPE(name, symbol) HANDLE(MPI_Datatype, MPI_##name, symbol)
#define OP(name, symbol) HANDLE(MPI_Op, MPI_##name, op_##symbol)

// kBits: no number. kCharacter: one of 8 bits, whose sign libraries see differently.
enum class Meaning { kNumber, kBits, kCharacter };
struct NamedType {
  MPI_Datatype type;
  Kind kind;
  Meaning meaning = Meaning::kNumber;
};
struct NamedOp {
  MPI_Op op;
  Operation operation;
};

const std::vector<NamedType>& named_types() {
  static const std::vector<NamedType> all{
      {TYPE(FLOAT, float), Kind::kFloating},
      {TYPE(DOUBLE, double), Kind::kFloating},
      {TYPE(INT, int), Kind::kSigned},
      {TYPE(UNSIGNED, unsigned), Kind::kUnsigned},
      {TYPE(LONG, long), Kind::kSigned},
      {TYPE(UNSIGNED_LONG, unsigned_long), Kind::kUnsigned},
      {TYPE(LONG_LONG, long_long_int), Kind::kSigned},
      {TYPE(UNSIGNED_LONG_LONG, unsigned_long_long), Kind::kUnsigned},
      {TYPE(SHORT, short), Kind::kSigned},
      {TYPE(UNSIGNED_SHORT, unsigned_short), Kind::kUnsigned},
      {TYPE(SIGNED_CHAR, signed_char), Kind::kSigned},
      {TYPE(UNSIGNED_CHAR, unsigned_char), Kind::kUnsigned},
      {TYPE(INT8_T, int8_t), Kind::kSigned},
      {TYPE(INT16_T, int16_t), Kind::kSigned},
      {TYPE(INT32_T, int32_t), Kind::kSigned},
      {TYPE(INT64_T, int64_t), Kind::kSigned},
      {TYPE(UINT8_T, uint8_t), Kind::kUnsigned},
      {TYPE(UINT16_T, uint16_t), Kind::kUnsigned},
      {TYPE(UINT32_T, uint32_t), Kind::kUnsigned},
      {TYPE(UINT64_T, uint64_t), Kind::kUnsigned},
      {TYPE(AINT, aint), Kind::kSigned},
      {TYPE(OFFSET, offset), Kind::kSigned},
      {TYPE(COUNT, count), Kind::kSigned},
      {TYPE(BYTE, byte), Kind::kUnsigned, Meaning::kBits},
      {TYPE(CHAR, char), Kind::kSigned, Meaning::kCharacter},
      {TYPE(INTEGER, integer), Kind::kSigned},
      {TYPE(REAL, real), Kind::kFloating},
      {TYPE(DOUBLE_PRECISION, dblprec), Kind::kFloating},
  };
  return all;
}

const std::vector<NamedOp>& named_ops() {
  static const std::vector<NamedOp> all{
      {OP(SUM, sum), Operation::kSum},      {OP(PROD, prod), Operation::kProduct},
      {OP(MAX, max), Operation::kMax},      {OP(MIN, min), Operation::kMin},
      {OP(BAND, band), Operation::kBitAnd}, {OP(BOR, bor), Operation::kBitOr},
      {OP(BXOR, bxor), Operation::kBitXor}, {OP(LAND, land), Operation::kAnd},
      {OP(LOR, lor), Operation::kOr},       {OP(LXOR, lxor), Operation::kXor},
  };
  return all;
}

#undef HANDLE
#undef TYPE
#undef OP

bool fits(Operation operation, Meaning meaning) {
  switch (meaning) {
    case Meaning::kBits:
      return operation == Operation::kBitAnd || operation == Operation::kBitOr ||
             operation == Operation::kBitXor;
    case Meaning::kCharacter:
      return operation != Operation::kMax && operation != Operation::kMin;
    case Meaning::kNumber:
      break;
  }
  return true;
}

}  // namespace

std::optional<Combination> reduction_of(MPI_Datatype type, MPI_Op op) {
  for (const NamedOp& by : named_ops()) {
    if (by.op != op) continue;
    for (const NamedType& of : named_types()) {
      if (of.type != type) continue;
      const Combination out{of.kind, static_cast<unsigned>(type_of(type).bytes), by.operation};
      const bool known = fits(by.operation, of.meaning) && out.known();
      return known ? std::optional(out) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace nearpeak::layer
