// SPDX-License-Identifier: Apache-2.0
// How long a GPU has no kernel of a name between two of them, by the timeline of CUPTI: what
// `handoff` and `handoff_allreduce` of nearpeak-mpi and nearpeak-native read from the GPU's clock,
// seen from outside, without any of their code. Loaded before a program:
//   C=/usr/local/cuda   # or where cupti.h and libcupti.so are
//   g++ -O2 -shared -fPIC -I$C/include -L$C/lib64 kernel_gaps.cpp -o gaps.so -lcupti
//   LD_PRELOAD=$PWD/gaps.so KERNEL_GAPS=hand_over nearpeak run handoff --mpi intel --sizes 64K ...
// Each process with such kernels prints, at its end, the median time between two of them: of 21
// gaps 20 have a message of the chain in them.
#include <cupti.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kBuffer = 8 << 20;
struct Seen {
  std::uint64_t begin, end;
};
std::vector<Seen>& seen() {
  static auto* const all = new std::vector<Seen>;
  return *all;
}
const char* wanted = nullptr;

void CUPTIAPI lend(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBuffer));
  *size = kBuffer;
  *most = 0;
}

void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    // Its first fields, and `name`, are those of all later versions of this record.
    const auto* const kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    if (kernel->name != nullptr && std::strstr(kernel->name, wanted) != nullptr)
      seen().push_back({kernel->start, kernel->end});
  }
  std::free(buffer);
}

struct AtTheEnd {
  AtTheEnd() {
    wanted = std::getenv("KERNEL_GAPS");
    if (wanted == nullptr) return;
    cuptiActivityRegisterCallbacks(lend, take);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  }
  ~AtTheEnd() {
    if (wanted == nullptr) return;
    cuptiActivityFlushAll(1);
    std::vector<Seen>& all = seen();
    if (all.size() < 2) return;
    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    std::vector<double> gaps;
    for (std::size_t at = 1; at < all.size(); ++at)
      gaps.push_back((static_cast<double>(all[at].begin) - static_cast<double>(all[at - 1].end)) /
                     1e3);
    std::nth_element(gaps.begin(), gaps.begin() + gaps.size() / 2, gaps.end());
    std::fprintf(stderr, "process %d: %zu kernels, median %.2f us between two\n", getpid(),
                 all.size(), gaps[gaps.size() / 2]);
  }
} at_the_end;

}  // namespace
