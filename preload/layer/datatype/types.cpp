// SPDX-License-Identifier: Apache-2.0
#include "layer/datatype/types.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "calls/handles.hpp"
#include "layer/datatype/contents.hpp"
#include "layer/datatype/freeing.hpp"

namespace nearpeak::layer {
namespace {

auto& types = *new calls::Handles<MPI_Datatype, Type>;
// Of one; of none where it is not regular.
auto& layouts = *new calls::Handles<MPI_Datatype, std::optional<Layout>>;
auto& runs = *new calls::Handles<MPI_Datatype, std::shared_ptr<const Runs>>;  // of those with gaps

std::atomic<bool> stray{false};

MPI_Comm own_comm{};

// Open MPI 5.0.11 does not know any more what such a type was made of.
struct FreeingType : Freeing<MPI_Datatype> {
  FreeingType(MPI_Datatype handle, const Type& its) : Freeing(handle), type(its) {}
  const Type type;
};

// What the library says of one of a type.
Type measured(MPI_Datatype type) {
  Type out;
  MPI_Count low = 0, true_low = 0, true_extent = 0;
  NEARPEAK_REAL(MPI_Type_size_x)(type, &out.bytes);
  NEARPEAK_REAL(MPI_Type_get_extent_x)(type, &low, &out.extent);
  NEARPEAK_REAL(MPI_Type_get_true_extent_x)(type, &true_low, &true_extent);
  out.span = {static_cast<MPI_Aint>(true_low), static_cast<MPI_Aint>(true_low + true_extent)};
  // In such a span there is no room for gaps, if its bytes are in order.
  out.dense = low == 0 && true_low == 0 && out.extent == out.bytes && true_extent == out.bytes;
  return out;
}

// Elements behind each other, as they are packed: whether none begins before the one before it
// ends.
class Row {
 public:
  void add(MPI_Count place, MPI_Count n, const Type& of) {
    if (n <= 0 || of.bytes == 0) return;
    const MPI_Count last = place + (n - 1) * of.extent;
    good_ = good_ && (n == 1 || of.extent >= of.span.high - of.span.low) &&
            (empty_ || place + of.span.low >= end_);
    end_ = last + of.span.high;
    empty_ = false;
  }
  bool good() const { return good_; }

 private:
  bool good_ = true;
  bool empty_ = true;
  MPI_Count end_ = 0;
};

// Whether the elements that a type is made of follow each other in the order of their addresses.
bool are_in_order(const Contents& contents) {
  const std::vector<MPI_Count>& numbers = contents.numbers;
  const Type of = measured(contents.of[0]);
  const auto number = [&](MPI_Count i) { return numbers[static_cast<std::size_t>(i)]; };
  const auto place = [&](MPI_Count i) { return contents.places[static_cast<std::size_t>(i)]; };
  Row row;
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return true;
    case MPI_COMBINER_CONTIGUOUS:
      row.add(0, number(0), of);
      break;
    // Their elements are all at different multiples of the extent, the nearest first.
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
      row.add(0, 2, of);
      break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR: {
      const bool by_elements = contents.combiner == MPI_COMBINER_VECTOR;
      row.add(0, number(1), of);
      if (number(0) > 1) row.add(by_elements ? number(2) * of.extent : place(0), number(1), of);
      break;
    }
    case MPI_COMBINER_INDEXED:
      for (MPI_Count i = 1; i <= number(0); ++i)
        row.add(number(number(0) + i) * of.extent, number(i), of);
      break;
    case MPI_COMBINER_HINDEXED:
      for (MPI_Count i = 0; i < number(0); ++i) row.add(place(i), number(1 + i), of);
      break;
    case MPI_COMBINER_INDEXED_BLOCK:
      for (MPI_Count i = 0; i < number(0); ++i) row.add(number(2 + i) * of.extent, number(1), of);
      break;
    case MPI_COMBINER_HINDEXED_BLOCK:
      for (MPI_Count i = 0; i < number(0); ++i) row.add(place(i), number(1), of);
      break;
    case MPI_COMBINER_STRUCT:
      for (MPI_Count i = 0; i < number(0); ++i)
        row.add(place(i), number(1 + i), measured(contents.of[static_cast<std::size_t>(i)]));
      break;
    default:
      return false;
  }
  return row.good();
}

// Whether the bytes of a type are packed in the order of their addresses, and none of them twice.
bool is_in_order(MPI_Datatype type) {
  const Contents contents(type);
  if (contents.of.empty()) return true;
  return are_in_order(contents) && std::all_of(contents.of.begin(), contents.of.end(), is_in_order);
}

Type found(MPI_Datatype type) {
  Type out;
  out.dense = true;
  if (type == calls::datatype_null()) return out;  // of which the library says that it is none
  out = measured(type);
  out.dense = out.bytes == 0 || (out.dense && is_in_order(type));
  return out;
}

// A mark is unpacked into memory without any: the bytes that have it belong to the type.
Runs found_runs(MPI_Datatype type) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const Type& of = type_of(type);
  const auto bytes = static_cast<std::size_t>(of.bytes);
  if (of.span.bytes() > kMost || bytes > kMost)
    throw std::runtime_error("a datatype that spans more than 1 GiB on a device is not done");
  constexpr char kMark = 1;
  const std::vector<char> packed(bytes, kMark);
  std::vector<char> laid(of.span.bytes(), 0);
  int place = 0;
  NEARPEAK_REAL(MPI_Unpack)
  (packed.data(), static_cast<int>(bytes), &place, laid.data() - of.span.low, 1, type, own_comm);
  Runs out;
  for (auto at = laid.begin(); at != laid.end();) {
    const auto begin = std::find(at, laid.end(), kMark);
    at = std::find(begin, laid.end(), 0);
    if (begin != at)
      out.push_back({of.span.low + (begin - laid.begin()), static_cast<std::size_t>(at - begin)});
  }
  return out;
}

void lay_subarray(const std::vector<MPI_Count>& numbers, std::int64_t extent, Layout& out) {
  const auto dimensions = static_cast<std::size_t>(numbers[0]);
  const bool in_c = numbers[1 + 3 * dimensions] == MPI_ORDER_C;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t at = 1 + (in_c ? dimensions - 1 - i : i);
    out.repeat(static_cast<std::uint64_t>(numbers[at + dimensions]), extent);
    out.offset += numbers[at + 2 * dimensions] * extent;
    extent *= numbers[at];
  }
}

bool is_regular(int combiner) {
  for (const int each : {MPI_COMBINER_DUP, MPI_COMBINER_CONTIGUOUS, MPI_COMBINER_VECTOR,
                         MPI_COMBINER_HVECTOR, MPI_COMBINER_SUBARRAY, MPI_COMBINER_RESIZED})
    if (combiner == each) return true;
  return false;
}

bool lay(MPI_Datatype type, Layout& out) {
  if (const Type of = found(type); of.dense) {
    out.block = static_cast<std::uint64_t>(of.bytes);
    return of.bytes > 0;
  }
  const Contents contents(type);
  if (!is_regular(contents.combiner) || !lay(contents.of[0], out)) return false;
  const std::int64_t extent = measured(contents.of[0]).extent;
  const auto count = [&](std::size_t i) { return static_cast<std::uint64_t>(contents.numbers[i]); };
  if (contents.combiner == MPI_COMBINER_CONTIGUOUS) {
    out.repeat(count(0), extent);
  } else if (contents.combiner == MPI_COMBINER_VECTOR ||
             contents.combiner == MPI_COMBINER_HVECTOR) {
    out.repeat(count(1), extent);
    out.repeat(count(0), contents.combiner == MPI_COMBINER_VECTOR ? contents.numbers[2] * extent
                                                                  : contents.places[0]);
  } else if (contents.combiner == MPI_COMBINER_SUBARRAY) {
    lay_subarray(contents.numbers, extent, out);
  }
  return true;
}

std::optional<Layout> found_layout(MPI_Datatype type) {
  Layout out;
  if (!lay(type, out)) return std::nullopt;
  // As the library has it, or it is not what was understood.
  const Type& of = type_of(type);
  const bool same = out.bytes() == static_cast<std::uint64_t>(of.bytes) &&
                    out.low() == of.span.low && out.high() == of.span.high;
  return same ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<Layout> layout_of(MPI_Count n, MPI_Datatype type) {
  const auto* known = layouts.find(type);
  if (known == nullptr && is_being_freed(type)) return std::nullopt;
  if (known == nullptr) known = layouts.put(type, found_layout(type));
  std::optional<Layout> out = *known;
  if (n <= 0) return std::nullopt;
  if (out) out->repeat(static_cast<std::uint64_t>(n), type_of(type).extent);
  return out;
}

std::shared_ptr<const Runs> runs_of(MPI_Datatype type) {
  if (const auto* const known = runs.find(type)) return *known;
  const auto its = std::make_shared<const Runs>(found_runs(type));
  return is_being_freed(type) ? its : *runs.put(type, its);
}

Span span_of(MPI_Count n, MPI_Datatype type) {
  if (n <= 0) return {};  // without elements the type may be invalid
  const Type& of = type_of(type);
  if (of.bytes == 0) return {};
  const auto last = static_cast<MPI_Aint>((n - 1) * of.extent);
  return {of.span.low + std::min<MPI_Aint>(last, 0), of.span.high + std::max<MPI_Aint>(last, 0)};
}

const Type& type_of(MPI_Datatype type) {
  if (const Type* const known = types.find(type)) return *known;
  if (const auto* const freeing = static_cast<FreeingType*>(FreeingType::find(type)))
    return freeing->type;
  return *types.put(type, found(type));
}

bool is_being_freed(MPI_Datatype type) { return FreeingType::find(type) != nullptr; }

int commit_type(MPI_Datatype* type) {
  const int code = NEARPEAK_REAL(MPI_Type_commit)(type);
  if (code == MPI_SUCCESS && !stray.load() && !measured(*type).dense) stray.store(true);
  return code;
}

bool types_stray() { return stray.load(std::memory_order_relaxed); }

int free_type(MPI_Datatype* type) {
  const FreeingType freeing(*type, type_of(*type));
  types.drop(*type);
  layouts.drop(*type);
  runs.drop(*type);
  return NEARPEAK_REAL(MPI_Type_free)(type);
}

Elements::Elements(MPI_Count n, MPI_Datatype type) : n_(static_cast<int>(n)), type_(type) {
  if (n <= INT_MAX) return;
  constexpr MPI_Count kPart = MPI_Count{1} << 30;
  const MPI_Count parts = n / kPart;
  MPI_Datatype part{};
  NEARPEAK_REAL(MPI_Type_contiguous)(static_cast<int>(kPart), type, &part);
  const std::array lengths{static_cast<int>(parts), static_cast<int>(n % kPart)};
  const std::array places{MPI_Aint{0},
                          static_cast<MPI_Aint>(parts * kPart * measured(type).extent)};
  const std::array of{part, type};
  NEARPEAK_REAL(MPI_Type_create_struct)(2, lengths.data(), places.data(), of.data(), &type_);
  NEARPEAK_REAL(MPI_Type_commit)(&type_);
  NEARPEAK_REAL(MPI_Type_free)(&part);
  n_ = 1;
  made_ = true;
}

Elements::~Elements() {
  if (made_) NEARPEAK_REAL(MPI_Type_free)(&type_);
}

void convert_through(MPI_Comm own) { own_comm = own; }

// A message to itself: MPI_Unpack takes whole elements alone.
void convert(const void* from, MPI_Count n, MPI_Datatype type, void* to, MPI_Count m,
             MPI_Datatype as) {
  const Elements given(n, type), wanted(m, as);
  NEARPEAK_REAL(MPI_Sendrecv)
  (from, given.n(), given.type(), 0, 0, to, wanted.n(), wanted.type(), 0, 0, own_comm,
   MPI_STATUS_IGNORE);
}

void unpack(const void* packed, std::size_t bytes, void* data, MPI_Count n, MPI_Datatype type) {
  convert(packed, static_cast<MPI_Count>(bytes), calls::byte_type(), data, n, type);
}

}  // namespace nearpeak::layer
