// SPDX-License-Identifier: Apache-2.0
// A point-to-point benchmark, written once as a template over its transport, as a Benchmark.
#pragma once

#include "benchmark/benchmark.hpp"
#include "pt2pt/inlined.hpp"

namespace nearpeak {

// Case<T> has a constructor as PairCase and a static Messages wanted(const CaseContext&). A
// transport of the list Inlined is known when compiled; others are called through their base.
template <template <class> class PairBenchmark>
class OverTransport {
  template <class... Some>
  static std::unique_ptr<Case> make(Types<Some...>, const CaseContext& context,
                                    const Messages& messages, const Buffers& buffers,
                                    Transport& transport) {
    std::unique_ptr<Case> made;
    const auto with = [&](auto* known) {
      using T = std::remove_pointer_t<decltype(known)>;
      if (known != nullptr)
        made = std::make_unique<PairBenchmark<T>>(context, messages, buffers, *known);
      return known != nullptr;
    };
    (with(dynamic_cast<Some*>(&transport)) || ...) || with(&transport);
    return made;
  }

 public:
  static Benchmark benchmark(BenchmarkInfo info) {
    return {.info = std::move(info),
            .make = nullptr,
            .messages = PairBenchmark<Transport>::wanted,
            .make_over = [](const CaseContext& context, const Messages& messages,
                            const Buffers& buffers, Transport& transport) {
              return make(Inlined{}, context, messages, buffers, transport);
            }};
  }
};

}  // namespace nearpeak
