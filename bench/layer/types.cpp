// SPDX-License-Identifier: Apache-2.0
#include "layer/types.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <vector>

#include "calls/handles.hpp"
#include "layer/freeing.hpp"
#include "layer/world.hpp"
// Behind mpi.h.
#include "calls/level.hpp"

namespace nearpeak::layer {
namespace {

auto& types = *new calls::Handles<MPI_Datatype, Type>;
// Of one; of none where it is not regular.
auto& layouts = *new calls::Handles<MPI_Datatype, std::optional<Layout>>;
auto& runs = *new calls::Handles<MPI_Datatype, std::shared_ptr<const Runs>>;  // of those with gaps

struct FreeingType : Freeing<MPI_Datatype> {
  using Freeing::Freeing;
  std::optional<Type> type;
};
bool is_being_freed(MPI_Datatype type) { return FreeingType::find(type) != nullptr; }

// Whether one of a type without gaps is packed as it lies there: its parts may be in another order.
// It is tried with bytes of which no eight are alike.
bool in_order(MPI_Datatype type, std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  if (bytes > kMost) return false;
  std::vector<std::uint64_t> laid(bytes / 8 + 1), packed(laid.size());
  std::uint64_t state = 1;
  for (std::uint64_t& word : laid)
    word = state = state * 6364136223846793005U + 1442695040888963407U;
  int place = 0;
  NEARPEAK_REAL(MPI_Pack)
  (laid.data(), 1, type, packed.data(), static_cast<int>(8 * packed.size()), &place, world.own);
  return static_cast<std::size_t>(place) == bytes &&
         std::memcmp(laid.data(), packed.data(), bytes) == 0;
}

Type found(MPI_Datatype type) {
  Type out;
  MPI_Count low = 0, true_low = 0, true_extent = 0;
  NEARPEAK_REAL(MPI_Type_size_x)(type, &out.bytes);
  NEARPEAK_REAL(MPI_Type_get_extent_x)(type, &low, &out.extent);
  NEARPEAK_REAL(MPI_Type_get_true_extent_x)(type, &true_low, &true_extent);
  out.span = {static_cast<MPI_Aint>(true_low), static_cast<MPI_Aint>(true_low + true_extent)};
  int integers = 0, addresses = 0, inner = 0, combiner = MPI_COMBINER_DUP;
  // Open MPI 5.0.11 knows no more what a type that is being freed was made of.
  if (!is_being_freed(type))
    NEARPEAK_REAL(MPI_Type_get_envelope)(type, &integers, &addresses, &inner, &combiner);
  const bool whole =
      low == 0 && true_low == 0 && out.extent == out.bytes && true_extent == out.bytes;
  out.dense = out.bytes == 0 || (whole && (combiner == MPI_COMBINER_NAMED ||
                                           in_order(type, static_cast<std::size_t>(out.bytes))));
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
  (packed.data(), static_cast<int>(bytes), &place, laid.data() - of.span.low, 1, type, world.own);
  Runs out;
  for (auto at = laid.begin(); at != laid.end();) {
    const auto begin = std::find(at, laid.end(), kMark);
    at = std::find(begin, laid.end(), 0);
    if (begin != at)
      out.push_back({of.span.low + (begin - laid.begin()), static_cast<std::size_t>(at - begin)});
  }
  return out;
}

// What a type was made of.
class Contents {
 public:
  explicit Contents(MPI_Datatype type) {
    int integers = 0, addresses = 0, inner = 0;
    NEARPEAK_REAL(MPI_Type_get_envelope)(type, &integers, &addresses, &inner, &combiner);
    if (!is_regular() || inner != 1) return;
    numbers.resize(static_cast<std::size_t>(integers));
    places.resize(static_cast<std::size_t>(addresses));
    NEARPEAK_REAL(MPI_Type_get_contents)
    (type, integers, addresses, inner, numbers.data(), places.data(), &of);
    found = true;
    derived_ = is_derived(of);
    // A type is made of others that need not be; to look at them they are packed.
    if (derived_) NEARPEAK_REAL(MPI_Type_commit)(&of);
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    if (!derived_) return;
    free_type(&of);
  }

  bool found = false;
  int combiner = 0;
  std::vector<int> numbers;
  std::vector<MPI_Aint> places;
  MPI_Datatype of{};  // elements

 private:
  // Others are the library's own, and not to be freed.
  static bool is_derived(MPI_Datatype type) {
    int integers = 0, addresses = 0, inner = 0, combiner = 0;
    NEARPEAK_REAL(MPI_Type_get_envelope)(type, &integers, &addresses, &inner, &combiner);
#if NEARPEAK_MPI_LEVEL >= 41
    if (combiner == MPI_COMBINER_VALUE_INDEX) return false;
#endif
    return inner > 0;
  }
  bool is_regular() const {
    for (const int each : {MPI_COMBINER_DUP, MPI_COMBINER_CONTIGUOUS, MPI_COMBINER_VECTOR,
                           MPI_COMBINER_HVECTOR, MPI_COMBINER_SUBARRAY, MPI_COMBINER_RESIZED})
      if (combiner == each) return true;
    return false;
  }

  bool derived_ = false;
};

void lay_subarray(const std::vector<int>& numbers, std::int64_t extent, Layout& out) {
  const auto dimensions = static_cast<std::size_t>(numbers[0]);
  const bool in_c = numbers[1 + 3 * dimensions] == MPI_ORDER_C;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t at = 1 + (in_c ? dimensions - 1 - i : i);
    out.repeat(static_cast<std::uint64_t>(numbers[at + dimensions]), extent);
    out.offset += numbers[at + 2 * dimensions] * extent;
    extent *= numbers[at];
  }
}

bool lay(MPI_Datatype type, Layout& out) {
  if (const Type& of = type_of(type); of.dense) {
    out.block = static_cast<std::uint64_t>(of.bytes);
    return of.bytes > 0;
  }
  const Contents contents(type);
  if (!contents.found || !lay(contents.of, out)) return false;
  const std::int64_t extent = type_of(contents.of).extent;
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
  const Type& of = type_of(type);
  if (n <= 0 || of.bytes == 0) return {};
  const auto last = static_cast<MPI_Aint>((n - 1) * of.extent);
  return {of.span.low + std::min<MPI_Aint>(last, 0), of.span.high + std::max<MPI_Aint>(last, 0)};
}

const Type& type_of(MPI_Datatype type) {
  if (const Type* const known = types.find(type)) return *known;
  if (auto* const freeing = static_cast<FreeingType*>(FreeingType::find(type))) {
    if (!freeing->type) freeing->type = found(type);
    return *freeing->type;
  }
  return *types.put(type, found(type));
}

int free_type(MPI_Datatype* type) {
  const FreeingType freeing(*type);
  types.drop(*type);
  layouts.drop(*type);
  runs.drop(*type);
  return NEARPEAK_REAL(MPI_Type_free)(type);
}

// A message to itself: MPI_Unpack takes whole elements alone.
void unpack(const void* packed, std::size_t bytes, void* data, MPI_Count n, MPI_Datatype type) {
  if (bytes > INT_MAX || n > INT_MAX)
    end_job("a message of more than 2 GiB from a device is not received into a type with gaps");
  NEARPEAK_REAL(MPI_Sendrecv)
  (packed, static_cast<int>(bytes), calls::byte_type(), 0, 0, data, static_cast<int>(n), type, 0, 0,
   world.own, MPI_STATUS_IGNORE);
}

}  // namespace nearpeak::layer
