// SPDX-License-Identifier: Apache-2.0
#include "native/memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>

#include "native/copy.hpp"
#include "native/process.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace nearpeak {
namespace {

constexpr std::size_t kPage = 4096;
constexpr double kPilotShare = 0.1;  // of the slot, for the first trial of each method
constexpr std::uint64_t kPilotSamples = 3;
constexpr double kScalar = 3;

// Threads of which each has its CPU, and which do one thing together at a time. The caller is the
// first of them.
class Workers {
 public:
  using Work = std::function<void(std::size_t thread)>;

  explicit Workers(const std::vector<int>& cpus) {
    bind_to_cpu(cpus.front());
    for (std::size_t i = 1; i < cpus.size(); ++i)
      threads_.emplace_back([this, i, cpu = cpus[i]] { serve(i, cpu); });
    run(cpus.size(), [](std::size_t) {});
    if (failed_) {
      stop();
      throw std::runtime_error("a thread cannot be bound to its CPU");
    }
  }
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // The first `count` threads do the work, and all of it is done.
  void run(std::size_t count, const Work& work) {
    work_ = &work;
    count_ = count;
    left_.store(threads_.size());
    round_.fetch_add(1, std::memory_order_release);
    work(0);
    while (left_.load(std::memory_order_acquire) != 0) cpu_relax();
  }

 private:
  void serve(std::size_t index, int cpu) {
    try {
      bind_to_cpu(cpu);
    } catch (const std::runtime_error&) {
      failed_ = true;
    }
    for (std::uint64_t seen = 0;; ++seen) {
      while (round_.load(std::memory_order_acquire) == seen) cpu_relax();
      if (stopping_) return;
      if (index < count_) (*work_)(index);
      left_.fetch_sub(1, std::memory_order_release);
    }
  }

  void stop() {
    stopping_ = true;
    round_.fetch_add(1, std::memory_order_release);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::vector<std::thread> threads_;
  const Work* work_ = nullptr;
  std::size_t count_ = 0;
  alignas(128) std::atomic<std::uint64_t> round_{0};
  alignas(128) std::atomic<std::size_t> left_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> stopping_{false};
};

std::string node_folder(int node) { return "/sys/devices/system/node/node" + std::to_string(node); }

void check_node(int node) {
  struct stat found{};
  if (stat(node_folder(node).c_str(), &found) == 0) return;
  const bool no_numa = stat("/sys/devices/system/node", &found) != 0;
  if (node != 0 || !no_numa)
    throw BadInput("there is no NUMA node " + std::to_string(node) +
                   ": see /sys/devices/system/node for those of this machine");
}

// Pages of the range come from this node. False where the kernel or a container forbids to say so.
bool place_on_node(void* memory, std::size_t bytes, int node) {
  constexpr int kBind = 2;  // MPOL_BIND
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(node / kBits + 1);
  mask[node / kBits] = 1UL << (node % kBits);
  if (syscall(SYS_mbind, memory, bytes, kBind, mask.data(), mask.size() * kBits + 1, 0) == 0)
    return true;
  if (errno == EPERM || errno == ENOSYS) return false;
  throw std::runtime_error("cannot place memory on NUMA node " + std::to_string(node) + ": " +
                           std::strerror(errno));
}

// Pages of the range come from this node because a CPU of it writes them first.
void touch_on_node(char* memory, std::size_t bytes, int node) {
  std::ifstream file(node_folder(node) + "/cpulist");
  std::string list;
  std::getline(file, list);
  if (!file || list.empty()) {
    if (node == 0) return;  // the kernel knows no NUMA: there is one memory
    throw std::runtime_error("NUMA node " + std::to_string(node) + " has no CPU to place memory");
  }
  std::exception_ptr failed;
  std::thread([&] {
    try {
      bind_to_cpu(parse_cpus(list).front());
      for (std::size_t i = 0; i < bytes; i += kPage) memory[i] = 0;
    } catch (...) {
      failed = std::current_exception();
    }
  }).join();
  if (failed) std::rethrow_exception(failed);
}

// One array. Large pages where they can be had: the ceiling is the memory's, not the TLB's.
class Array {
 public:
  Array(std::size_t bytes, std::optional<int> node)
      : bytes_(bytes),
        data_(static_cast<char*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    madvise(data_, bytes_, MADV_HUGEPAGE);
    try {
      if (node && !place_on_node(data_, bytes_, *node)) touch_on_node(data_, bytes_, *node);
    } catch (...) {
      munmap(data_, bytes_);
      throw;
    }
  }
  ~Array() { munmap(data_, bytes_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  char* bytes() const { return data_; }
  double* doubles() const { return reinterpret_cast<double*>(data_); }

 private:
  std::size_t bytes_;
  char* data_;
};

// a[i] = b[i] + s * c[i]
using TriadFunction = void (*)(double* a, const double* b, const double* c, std::size_t count);

void triad_plain(double* a, const double* b, const double* c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + kScalar * c[i];
}

#if defined(__x86_64__)
void triad_streaming(double* a, const double* b, const double* c, std::size_t count) {
  const __m128d scalar = _mm_set1_pd(kScalar);
  std::size_t i = 0;
  for (; i < count && reinterpret_cast<std::uintptr_t>(a + i) % 16 != 0; ++i)
    a[i] = b[i] + kScalar * c[i];
  for (; i + 2 <= count; i += 2)
    _mm_stream_pd(a + i, _mm_add_pd(_mm_loadu_pd(b + i), _mm_mul_pd(scalar, _mm_loadu_pd(c + i))));
  for (; i < count; ++i) a[i] = b[i] + kScalar * c[i];
  _mm_sfence();
}
#endif

// A way to do a sweep, for some threads.
struct Way {
  std::string name;
  std::size_t threads;
  std::function<void(std::size_t begin, std::size_t end)> sweep;  // bytes of each array
};

class MemoryRun {
 public:
  explicit MemoryRun(const MemoryOptions& options)
      : options_(options),
        workers_(options.cpus),
        clock_(measure_clock()),
        sampler_(alone_, clock_),
        writer_(options.common.jsonl.empty() ? RecordWriter()
                                             : RecordWriter(options.common.jsonl)) {}

  int run() {
    RankPlace place = this_place(0);
    place.cpus = options_.cpus;
    writer_.environment("nearpeak-native", std::nullopt, {to_json(place)}, clock_);
    table_.heading(std::string("nearpeak-native ") + kVersion +
                   " memory: copy counts each copied byte once, triad the bytes of its three "
                   "arrays, as STREAM does");
    if (options_.probe) run_probe(writer_, table_, clock_);
    for (const std::size_t bytes : options_.common.ordered_sizes()) run_size(bytes);
    return status_;
  }

 private:
  // Calls work(begin, end) on each thread's bytes.
  void split(std::size_t bytes, std::size_t threads,
             const std::function<void(std::size_t, std::size_t)>& work) {
    const std::size_t lines = bytes / 64;
    workers_.run(threads, [&](std::size_t thread) {
      const std::size_t begin = lines * thread / threads * 64;
      const bool last = thread + 1 == threads;
      work(begin, last ? bytes : lines * (thread + 1) / threads * 64);
    });
  }

  std::vector<std::size_t> thread_counts() const {
    std::vector<std::size_t> counts;
    for (std::size_t n = 1; n < options_.cpus.size(); n *= 2) counts.push_back(n);
    counts.push_back(options_.cpus.size());
    return counts;
  }

  void run_size(std::size_t bytes) {
    const Array a(bytes, options_.node);
    const Array b(bytes, options_.node);
    const Array c(bytes, options_.node);
    for (const Metric& metric : options_.metrics)
      metric.name == "copy" ? copy(metric, bytes, a, b) : triad(metric, bytes, a, b, c);
  }

  void copy(const Metric& metric, std::size_t bytes, const Array& to, const Array& from) {
    constexpr std::size_t kSeeds = std::size_t{1} << 40;  // each thread's part has its own pattern
    const std::size_t all = options_.cpus.size();
    split(bytes, all, [&](std::size_t begin, std::size_t end) {
      fill_pattern(from.bytes() + begin, end - begin, kSeeds + begin);
      fill_inverse(to.bytes() + begin, end - begin, kSeeds + begin);
    });
    std::vector<Way> ways;
    for (const CopyKind& kind : copy_kinds())
      for (const std::size_t threads : thread_counts())
        ways.push_back(
            {kind.name, threads, [&, run = kind.copy](std::size_t begin, std::size_t end) {
               run(to.bytes() + begin, from.bytes() + begin, end - begin);
             }});
    measure(metric, bytes, static_cast<double>(bytes), ways, [&]() -> std::optional<Mismatch> {
      std::vector<std::optional<Mismatch>> wrong(bytes == 0 ? 0 : all);
      split(bytes, all, [&](std::size_t begin, std::size_t end) {
        auto found = find_mismatch(to.bytes() + begin, end - begin, kSeeds + begin);
        if (found) found->byte += begin;
        if (found) wrong[index_of(begin, bytes, all)] = found;
        fill_inverse(to.bytes() + begin, end - begin, kSeeds + begin);
      });
      for (const auto& each : wrong)
        if (each) return each;
      return std::nullopt;
    });
  }

  static std::size_t index_of(std::size_t begin, std::size_t bytes, std::size_t threads) {
    std::size_t index = 0;
    while (index + 1 < threads && bytes / 64 * (index + 1) / threads * 64 <= begin) ++index;
    return index;
  }

  void triad(const Metric& metric, std::size_t bytes, const Array& a, const Array& b,
             const Array& c) {
    const std::size_t all = options_.cpus.size();
    const auto expected = [](std::size_t i) {
      return static_cast<double>(i % 1021) + kScalar * static_cast<double>(i % 509);
    };
    split(bytes, all, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin / 8; i < end / 8; ++i) {
        a.doubles()[i] = -1;
        b.doubles()[i] = static_cast<double>(i % 1021);
        c.doubles()[i] = static_cast<double>(i % 509);
      }
    });
    std::vector<std::pair<std::string, TriadFunction>> kinds{{"plain", triad_plain}};
#if defined(__x86_64__)
    kinds.emplace_back("nt", triad_streaming);
#endif
    std::vector<Way> ways;
    for (const auto& [name, function] : kinds)
      for (const std::size_t threads : thread_counts())
        ways.push_back({name, threads, [&, run = function](std::size_t begin, std::size_t end) {
                          run(a.doubles() + begin / 8, b.doubles() + begin / 8,
                              c.doubles() + begin / 8, (end - begin) / 8);
                        }});
    measure(metric, bytes, 3 * static_cast<double>(bytes), ways, [&]() -> std::optional<Mismatch> {
      std::optional<Mismatch> wrong;
      for (std::size_t i = 0; i < bytes / 8; ++i) {
        if (!wrong && a.doubles()[i] != expected(i))
          wrong = Mismatch{8 * i, static_cast<unsigned char>(expected(i)),
                           static_cast<unsigned char>(a.doubles()[i])};
        a.doubles()[i] = -1;
      }
      return wrong;
    });
  }

  // All ways are tried; the best one is measured.
  void measure(const Metric& metric, std::size_t bytes, double counted,
               const std::vector<Way>& ways,
               const std::function<std::optional<Mismatch>()>& verify) {
    const auto sample = [&](const SamplingPolicy& policy, const Way& way) {
      return sampler_.measure(policy, [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) split(bytes, way.threads, way.sweep);
      });
    };
    SamplingPolicy pilot = options_.common.policy();
    pilot.slot_s *= kPilotShare;
    pilot.min_samples = std::min(pilot.min_samples, kPilotSamples);

    const Way* best = nullptr;
    double best_us = 0;
    for (const Way& way : ways) {
      const auto tried = sample(pilot, way).samples_us;
      const double us = *std::min_element(tried.begin(), tried.end());
      if (best == nullptr || us < best_us) {
        best = &way;
        best_us = us;
      }
    }
    CaseResult result;
    result.name = {"memory",
                   metric.name,
                   bytes,
                   "H,H",
                   {{"reuse", options_.common.reuse}},
                   best->name + " x" + std::to_string(best->threads)};
    if (options_.common.verify) {
      verify();  // clears what the trials have left
      split(bytes, best->threads, best->sweep);
      if (const auto wrong = verify()) {
        writer_.wrong_data(result.name, {0, *wrong});
        table_.problem(bytes, "WRONG DATA: " + *result.name.method);
        status_ = kWrongData;
        return;
      }
    }
    result.unit = metric.unit;
    result.better = metric.better;
    result.measurement = sample(options_.common.policy(), *best);
    for (const double us : result.measurement.samples_us)
      result.samples.push_back(counted / us / 1e3);
    table_.columns(metric.name, metric.unit);
    writer_.samples(result);
    table_.row(result);
  }

  const MemoryOptions& options_;
  Workers workers_;
  Alone alone_;
  ClockQuality clock_;
  Sampler sampler_;
  RecordWriter writer_;
  Table table_;
  int status_ = kGood;
};

class MemoryMode final : public Mode {
 public:
  MemoryMode()
      : Mode({"memory",
              "the memory of a NUMA node, by threads of given CPUs: copy (each copied byte counted "
              "once) and triad (the bytes of its three arrays, as STREAM counts)",
              memory_metrics(),
              {{"reuse", {"fixed"}}}}) {
    options_.common.sizes = std::to_string(uncached_bytes() >> 20) + "M";
  }

  void add_options(CLI::App& app) override {
    options_.common.add_to(app);
    app.add_option("--cpus", cpus_, "the CPUs, one thread on each: 0-3")->required();
    app.add_option("--memory-node", options_.node,
                   "the NUMA node of the memory; without it each thread's own")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--metrics", metrics_, "only these: copy,triad");
    app.add_flag("!--no-probe", options_.probe, "leave out the drift probe");
  }

  int run() override {
    options_.cpus = parse_cpus(cpus_);
    options_.metrics = chosen(metrics_, memory_metrics(), "metric");
    return run_memory(options_);
  }

 private:
  MemoryOptions options_;
  std::string cpus_;
  std::string metrics_;
};

MemoryMode mode;
const RegisterMode entry(mode);

}  // namespace

const std::vector<Metric>& memory_metrics() {
  static const std::vector<Metric> metrics{{"copy", "GB/s", "higher"}, {"triad", "GB/s", "higher"}};
  return metrics;
}

std::size_t uncached_bytes() {
  constexpr std::size_t kLeast = std::size_t{64} << 20;
  constexpr std::size_t kMost = std::size_t{1} << 30;  // three of them fit the memory of most nodes
  return std::clamp<std::size_t>(4 * largest_cache(), kLeast, kMost);
}

int run_memory(const MemoryOptions& options) {
  const auto sizes = options.common.ordered_sizes();
  if (*std::min_element(sizes.begin(), sizes.end()) < 64 * options.cpus.size())
    throw BadInput("--sizes of memory are the bytes of an array: give at least 64 for each CPU");
  if (options.common.reuse != "fixed")
    throw BadInput(
        "memory has no rotating buffers, as its arrays exceed the caches: leave --reuse out");
  check_cpus(options.cpus);
  auto distinct = options.cpus;
  std::sort(distinct.begin(), distinct.end());
  if (std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end())
    throw BadInput("--cpus of memory names a CPU twice: give each once");
  if (options.node) check_node(*options.node);
  check_writable(options.common.jsonl);
  return MemoryRun(options).run();
}

}  // namespace nearpeak
