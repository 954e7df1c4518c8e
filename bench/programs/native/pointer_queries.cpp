// SPDX-License-Identifier: Apache-2.0
// Facts of a path to a GPU: how long CUDA's driver takes to say whose memory an address is. A
// library with GPU support asks it of every buffer (docs/how-to/pointer-queries.md).
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "accel/library.hpp"
#include "programs/native/gpu.hpp"

namespace nearpeak {
namespace {

// CUpointer_attribute.
constexpr int kMemoryType = 2;
constexpr int kBufferId = 7;
constexpr int kIsManaged = 8;

using Query = int(void* answer, int attribute, const void* address);
using Queries = int(unsigned count, const int* attributes, void* const* answers,
                    const void* address);
using RuntimeQuery = int(void* attributes, const void* address);

// Which call asks.
enum class Question { kOne, kThree, kRuntime };

// CUDA's runtime, which need not be here. The one that an application would use is not known.
RuntimeQuery* find_runtime_query() {
  try {
    RuntimeQuery* query = nullptr;
    Library("NEARPEAK_CUDART_LIBRARY",
            {"libcudart.so.13", "libcudart.so.12", "/usr/local/cuda/lib64/libcudart.so"})
        .find(query, "cudaPointerGetAttributes");
    return query;
  } catch (const BackendUnavailable&) {
    return nullptr;
  }
}

// The runtime writes less in any version.
using RuntimeAttributes = std::array<std::uint64_t, 16>;

// Both ranks make one; the leader's asks.
class Asking final : public Sampled {
 public:
  Asking(const GpuRank& rank, Question question, BufferKind kind) : leads_(rank.group.leads()) {
    if (!leads_) return;
    memory_.emplace(rank.device->memory(kind), 64, 1);
    stream_ = rank.device->new_stream();  // after it the device is the thread's current one
    const Library driver("NEARPEAK_CUDA_LIBRARY", {"libcuda.so.1"});
    if (question == Question::kOne) driver.find(query_, "cuPointerGetAttribute");
    if (question == Question::kThree) driver.find(queries_, "cuPointerGetAttributes");
    if (question == Question::kRuntime) {
      RuntimeAttributes attributes{};
      runtime_query_ = find_runtime_query();
      if (runtime_query_ != nullptr && runtime_query_(attributes.data(), memory_->slot(0)) != 0)
        runtime_query_ = nullptr;  // it is older than the driver allows, or finds another one
    }
  }

  // On the leader.
  bool can_ask() const {
    return query_ != nullptr || queries_ != nullptr || runtime_query_ != nullptr;
  }

  void run(std::uint64_t n) override {
    if (!leads_) return;
    const void* const address = memory_->slot(0);
    for (std::uint64_t i = 0; i < n; ++i) {
      unsigned type = 0, managed = 0;
      std::uint64_t number = 0;
      RuntimeAttributes attributes{};
      constexpr std::array kAsked{kMemoryType, kIsManaged, kBufferId};
      const std::array<void*, kAsked.size()> answers{&type, &managed, &number};
      if (query_ != nullptr) query_(&type, kMemoryType, address);
      if (queries_ != nullptr) queries_(kAsked.size(), kAsked.data(), answers.data(), address);
      if (runtime_query_ != nullptr) runtime_query_(attributes.data(), address);
    }
  }

 private:
  const bool leads_;
  std::optional<SlotBuffer> memory_;
  std::unique_ptr<Stream> stream_;
  Query* query_ = nullptr;
  Queries* queries_ = nullptr;
  RuntimeQuery* runtime_query_ = nullptr;
};

void measure_questions(const GpuRank& rank, const Metric& metric, Question question) {
  if (!on_device(rank.group.leads() ? rank.kind : rank.peer_kind)) return;
  struct Memory {
    BufferKind kind;
    const char* name;
  };
  for (const Memory& memory :
       {Memory{BufferKind::kHost, "host"}, Memory{BufferKind::kPinned, "pinned"},
        Memory{BufferKind::kDevice, "device"}, Memory{BufferKind::kManaged, "managed"}}) {
    const CaseName name = rank.name(metric, 0, memory.name);
    std::optional<Asking> asking;
    bool can_ask = true;
    const std::string why = rank.group.first_reason(nearpeak::failure_of([&] {
      asking.emplace(rank, question, memory.kind);
      can_ask = !rank.group.leads() || asking->can_ask();
    }));
    if (!why.empty()) return rank.runner.skip(name, why);
    if (!rank.group.first_reason(can_ask ? "" : "there is no such call").empty()) return;
    rank.runner.measure(name, 1, *asking, [](double us) { return us; });
  }
}

GpuFact fact(const char* name, Question question) {
  return {.metric = {name, "us", "lower"},
          .measure =
              [question](const GpuRank& rank, const Metric& metric, std::size_t) {
                if (rank.group.size() == 2) measure_questions(rank, metric, question);
              },
          .sized = false};
}

const RegisterGpuFact pointer_query(fact("pointer_query", Question::kOne));
const RegisterGpuFact pointer_queries(fact("pointer_queries", Question::kThree));
const RegisterGpuFact runtime_pointer_query(fact("runtime_pointer_query", Question::kRuntime));

}  // namespace
}  // namespace nearpeak
