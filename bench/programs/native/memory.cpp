// SPDX-License-Identifier: Apache-2.0
#include "programs/native/memory.hpp"

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
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "accel/host/copy.hpp"
#include "group/host_memory.hpp"
#include "programs/native/process.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace nearpeak {
namespace {

constexpr std::size_t kPage = 4096;
constexpr double kTrialShare = 0.1;  // of the slot, for the first trial of each way
constexpr std::uint64_t kTrialSamples = 3;
constexpr double kHopeless = 1.5;  // times the best one's time: tried once
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

// Bytes that programs can still have of this node, or of the host; the most where the kernel does
// not say.
std::uint64_t available_on(std::optional<int> node) {
  std::ifstream file(node ? node_folder(*node) + "/meminfo" : "");
  std::uint64_t kib = 0;
  std::string name;
  for (std::uint64_t each = 0; file >> name;)
    if ((name == "MemFree:" || name == "Active(file):" || name == "Inactive(file):") &&
        file >> each)
      kib += each;
  return kib > 0 ? kib * 1024 : available_memory();
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

// What came of a way's trial.
struct WayTrial {
  const Way* way;
  Measurement measurement;

  double best_us() const {
    return *std::min_element(measurement.samples_us.begin(), measurement.samples_us.end());
  }
};

class MemoryRun {
 public:
  explicit MemoryRun(const MemoryOptions& options)
      : options_(options),
        workers_(options.cpus),
        runner_(alone_, options.common,
                {.program = "nearpeak-native", .contest = true, .buffers = "H,H"}),
        sampler_(alone_, runner_.clock()) {}

  int run() {
    RankPlace place = this_place(0);
    place.cpus = options_.cpus;
    runner_.open(std::nullopt, {to_json(place)});
    runner_.heading(
        "memory: copy counts each copied byte once, triad the bytes of its three arrays, as STREAM "
        "does");
    for (const std::size_t bytes : options_.common.ordered_sizes()) {
      const Array a(bytes, options_.node);
      const Array b(bytes, options_.node);
      const Array c(bytes, options_.node);
      if (wanted(options_.metrics, "copy")) copy(bytes, a, b);
      if (wanted(options_.metrics, "triad")) triad(bytes, a, b, c);
    }
    return runner_.status();
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

  // From all on downwards: beside their time that of few threads is soon hopeless.
  std::vector<std::size_t> thread_counts() const {
    std::vector<std::size_t> counts;
    for (std::size_t n = 1; n < options_.cpus.size(); n *= 2) counts.push_back(n);
    counts.push_back(options_.cpus.size());
    std::reverse(counts.begin(), counts.end());
    return counts;
  }

  // The first mismatch of any part, as bytes of the whole array.
  using Look = std::function<std::optional<Mismatch>(std::size_t begin, std::size_t end)>;
  std::optional<Mismatch> first_wrong(std::size_t bytes, const Look& look) {
    std::mutex mutex;
    std::optional<Mismatch> first;
    split(bytes, options_.cpus.size(), [&](std::size_t begin, std::size_t end) {
      const auto found = look(begin, end);
      if (!found) return;
      const std::lock_guard lock(mutex);
      if (!first || found->byte < first->byte) first = found;
    });
    return first;
  }

  // Each thread has its own part of the pattern.
  using Part = std::function<void(const SlotLayout&, std::size_t begin)>;
  void in_parts(std::size_t bytes, const Part& work) {
    split(bytes, options_.cpus.size(), [&](std::size_t begin, std::size_t end) {
      work({.bytes = end - begin, .stride = end - begin, .count = 1}, begin);
    });
  }

  void copy(std::size_t bytes, const Array& to, const Array& from) {
    constexpr std::size_t kSeeds = std::size_t{1} << 40;
    const auto poison_all = [&] {
      in_parts(bytes, [&](const SlotLayout& layout, std::size_t begin) {
        poison(to.bytes() + begin, layout, kSeeds + begin);
      });
    };
    in_parts(bytes, [&](const SlotLayout& layout, std::size_t begin) {
      fill(from.bytes() + begin, layout, {kSeeds + begin});
    });
    std::vector<Way> ways;
    for (const CopyKind& kind : copy_kinds())
      for (const std::size_t threads : thread_counts())
        ways.push_back(
            {kind.name, threads, [&, run = kind.copy](std::size_t begin, std::size_t end) {
               run(to.bytes() + begin, from.bytes() + begin, end - begin);
             }});
    measure("copy", bytes, static_cast<double>(bytes), ways, poison_all, [&] {
      return first_wrong(bytes, [&](std::size_t begin, std::size_t end) {
        const SlotLayout layout{.bytes = end - begin, .stride = end - begin, .count = 1};
        auto found = find_mismatch(to.bytes() + begin, layout, {kSeeds + begin});
        if (found) found->byte += begin;
        return found;
      });
    });
  }

  void triad(std::size_t bytes, const Array& a, const Array& b, const Array& c) {
    const auto expected = [](std::size_t i) {
      return static_cast<double>(i % 1021) + kScalar * static_cast<double>(i % 509);
    };
    const auto poison_all = [&] {
      split(bytes, options_.cpus.size(), [&](std::size_t begin, std::size_t end) {
        std::fill(a.doubles() + begin / 8, a.doubles() + end / 8, -1.0);
      });
    };
    split(bytes, options_.cpus.size(), [&](std::size_t begin, std::size_t end) {
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
    const auto look = [&](std::size_t begin, std::size_t end) -> std::optional<Mismatch> {
      for (std::size_t i = begin / 8; i < end / 8; ++i)
        if (a.doubles()[i] != expected(i))
          return Mismatch{.slot = 0,
                          .byte = 8 * i,
                          .expected = static_cast<unsigned char>(expected(i)),
                          .got = static_cast<unsigned char>(a.doubles()[i])};
      return std::nullopt;
    };
    measure("triad", bytes, 3 * static_cast<double>(bytes), ways, poison_all,
            [&] { return first_wrong(bytes, look); });
  }

  // All ways are tried; the best one is measured, and what it has left is looked at. Of others with
  // as many threads the trial is recorded: another launch may find one of them to be the best. So
  // is that of the best way of fewer threads: what so many cores can do.
  void measure(const std::string& metric, std::size_t bytes, double counted,
               const std::vector<Way>& ways, const std::function<void()>& poison_all,
               const std::function<std::optional<Mismatch>()>& find_wrong) {
    SamplingPolicy trial = usual_policy(options_.common);
    trial.slot_s *= kTrialShare;
    trial.least_samples = std::min(trial.least_samples, kTrialSamples);
    const auto sweeps = [&](const Way& way) {
      return Repeated([this, bytes, &way](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) split(bytes, way.threads, way.sweep);
      });
    };
    std::vector<WayTrial> all;
    double best_us = std::numeric_limits<double>::infinity();
    for (const Way& way : ways) {
      Repeated tried = sweeps(way);
      trial.hopeless_us = kHopeless * best_us;
      all.push_back({&way, sampler_.measure(trial, tried)});
      best_us = std::min(best_us, all.back().best_us());
    }
    const auto best_of = [&](std::size_t least, std::size_t most) {
      const WayTrial* best = nullptr;
      for (const WayTrial& tried : all)
        if (tried.way->threads >= least && tried.way->threads <= most &&
            (best == nullptr || tried.best_us() < best->best_us()))
          best = &tried;
      return best;
    };
    const auto name_of = [&](const Way& way) {
      return CaseName{.benchmark = metric,
                      .metric = {metric, "GB/s", "higher"},
                      .size_bytes = bytes,
                      .buffers = "H,H",
                      .axes = {{kReuse, options_.common.reuse}, {kTouch, options_.common.touch}},
                      .method = way.name + " x" + std::to_string(way.threads)};
    };
    const auto record = [&](const Way& way, Measurement measurement, bool trial_only) {
      CaseResult result;
      result.name = name_of(way);
      result.measurement = std::move(measurement);
      result.trial = trial_only;
      if (trial_only) result.measurement.limited = kTrialOnly;
      for (const double us : result.measurement.samples_us)
        result.samples.push_back(counted / us / 1e3);
      result.verified = options_.common.verify;
      if (options_.common.verify && !runner_.right(result.name, find_wrong())) return;
      runner_.record({result});
    };
    const Way& best = *best_of(1, options_.cpus.size())->way;
    const auto record_trial = [&](const WayTrial& tried) {
      poison_all();
      split(bytes, tried.way->threads, tried.way->sweep);
      record(*tried.way, tried.measurement, true);
    };
    for (const std::size_t threads : thread_counts())
      if (threads < best.threads) record_trial(*best_of(threads, threads));
    for (const WayTrial& tried : all)
      if (tried.way->threads == best.threads && tried.way != &best) record_trial(tried);
    poison_all();
    Repeated timed = sweeps(best);
    record(best, sampler_.measure(usual_policy(options_.common), timed), false);
  }

  const MemoryOptions& options_;
  Workers workers_;
  Alone alone_;
  Runner runner_;
  Sampler sampler_;
};

class MemoryMode final : public Mode {
 public:
  MemoryMode()
      : Mode("memory",
             "the memory of a NUMA node, by threads of given CPUs: copy (each copied byte counted "
             "once) and triad (the bytes of its three arrays, as STREAM counts)") {
    options_.common.reuses = {"fixed"};  // its arrays exceed the caches
    options_.common.touches = {"none"};
  }

  std::vector<Metric> metrics() const override {
    return {{"copy", "GB/s", "higher"}, {"triad", "GB/s", "higher"}};
  }
  std::vector<Axis> axes() const override { return common_axes(options_.common); }
  void add_options(CLI::App& app) override {
    options_.add_to(app, "copy,triad", "the CPUs, one thread on each: 0-3");
    app.get_option("--cpus")->required();
    sizes_ = app.get_option("--sizes")->default_str("4 times the last-level caches of the CPUs");
    app.add_option("--memory-node", options_.node,
                   "the NUMA node of the memory; without it each thread's own")
        ->check(CLI::NonNegativeNumber);
  }
  int run() override {
    if (sizes_->empty())
      options_.common.sizes = std::to_string(
          uncached_bytes(last_level_bytes(options_.cpus), available_on(options_.node)));
    return run_memory(options_);
  }

 private:
  MemoryOptions options_;
  CLI::Option* sizes_ = nullptr;
};

const RegisterMode<MemoryMode> memory_mode;

}  // namespace

std::uint64_t last_level_bytes(const std::vector<int>& cpus, const std::string& folder) {
  std::map<std::string, std::uint64_t> caches;  // by the CPUs that share each
  for (const int cpu : cpus) {
    int last = 0;
    std::string shared;
    std::uint64_t bytes = 0;
    for (int index = 0;; ++index) {
      const std::string cache =
          folder + "/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
      const auto said = [&](const std::string& name) {
        std::string text;
        std::ifstream(cache + name) >> text;
        return text;
      };
      const std::string level = said("level");
      if (level.empty()) break;
      const std::string size = said("size");
      if (size.empty() || std::stoi(level) <= last) continue;
      last = std::stoi(level);
      shared = said("shared_cpu_list");
      bytes = parse_bytes(size);
    }
    if (last > 0) caches[shared] = bytes;
  }
  if (caches.empty()) return std::uint64_t{32} << 20;
  return std::accumulate(caches.begin(), caches.end(), std::uint64_t{0},
                         [](std::uint64_t all, const auto& entry) { return all + entry.second; });
}

std::size_t uncached_bytes(std::uint64_t cache_bytes, std::uint64_t available) {
  constexpr std::size_t kLeast = std::size_t{64} << 20;
  std::size_t bytes = std::max<std::size_t>(4 * cache_bytes, kLeast);
  // By halves, so that little more or less of other programs' memory changes nothing.
  while (bytes / 2 >= kLeast && 3 * bytes > available / 2) bytes /= 2;
  return bytes;
}

int run_memory(const MemoryOptions& options) {
  const auto sizes = options.common.ordered_sizes();
  if (*std::min_element(sizes.begin(), sizes.end()) < 64 * options.cpus.size())
    throw BadInput("--sizes of memory are the bytes of an array: give at least 64 for each CPU");
  check_names(options.metrics, {"copy", "triad"}, "metric");
  if (!options.methods.empty() || options.as_library)
    throw BadInput("memory has no transports: leave --methods and --as-library out");
  auto distinct = options.cpus;
  std::sort(distinct.begin(), distinct.end());
  if (std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end())
    throw BadInput("--cpus of memory names a CPU twice: give each once");
  check_cpus(options.cpus);
  if (options.node) check_node(*options.node);
  options.check();
  return MemoryRun(options).run();
}

}  // namespace nearpeak
