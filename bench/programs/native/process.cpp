// SPDX-License-Identifier: Apache-2.0
#include "programs/native/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>

#include "options/options.hpp"
#include "record/record.hpp"

namespace nearpeak {
namespace {

constexpr int kMostCpus = 8192;

struct CpuSet {
  CpuSet() { CPU_ZERO_S(kBytes, set.get()); }
  static inline const std::size_t kBytes = CPU_ALLOC_SIZE(kMostCpus);
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set{CPU_ALLOC(kMostCpus),
                                                       [](cpu_set_t* s) { CPU_FREE(s); }};
};

std::runtime_error system_error(const std::string& what) {
  return std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

void check_cpus(const std::vector<int>& cpus) {
  const std::vector<int> usable = this_place(0).cpus;
  for (const int cpu : cpus)
    if (std::find(usable.begin(), usable.end(), cpu) == usable.end()) {
      std::string all;
      for (const int each : usable) all.append(all.empty() ? "" : ",").append(std::to_string(each));
      throw BadInput("CPU " + std::to_string(cpu) + " cannot be used: this process may run on " +
                     all);
    }
  auto sorted = cpus;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    std::cerr << "nearpeak-native: several processes share CPU " + std::to_string(*twice) +
                     ": what they reach is not a ceiling\n"
              << std::flush;
}

void bind_to_cpu(int cpu) {
  CpuSet wanted;
  CPU_SET_S(cpu, CpuSet::kBytes, wanted.set.get());
  if (sched_setaffinity(0, CpuSet::kBytes, wanted.set.get()) != 0)
    throw system_error("cannot bind to CPU " + std::to_string(cpu));
  CpuSet got;
  if (sched_getaffinity(0, CpuSet::kBytes, got.set.get()) < 0 ||
      !CPU_EQUAL_S(CpuSet::kBytes, wanted.set.get(), got.set.get()) || sched_getcpu() != cpu)
    throw std::runtime_error("bound to CPU " + std::to_string(cpu) + " but running elsewhere");
}

namespace {

struct Child {
  pid_t pid;
  int alive;  // the read end of a pipe that it holds open: readable when it is gone
  bool ended = false;
  int status = kGood;
};

int run_child(int rank, pid_t parent, const std::function<int()>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return kFailed;  // it was gone before
  return run_rank(rank, body);
}

void reap(Child& child, int rank) {
  int raw = 0;
  while (waitpid(child.pid, &raw, 0) < 0 && errno == EINTR) {
  }
  child.ended = true;
  child.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : kFailed;
  if (WIFSIGNALED(raw))
    std::fprintf(stderr, "nearpeak-native: process %d was ended by signal %d (%s)\n", rank,
                 WTERMSIG(raw), strsignal(WTERMSIG(raw)));
}

void end(std::vector<Child>& children) {
  for (Child& child : children) {
    if (child.ended) continue;
    kill(child.pid, SIGKILL);
    while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    child.ended = true;
  }
}

// Waits until every child has ended, or one has failed, or there is no progress.
int watch(std::vector<Child>& children, const Counter& progress, double stall_s) {
  std::uint64_t seen = progress.told();
  std::int64_t since = now_ns();
  while (true) {
    std::vector<pollfd> alive;
    for (const Child& child : children)
      alive.push_back({child.ended ? -1 : child.alive, POLLIN, 0});
    poll(alive.data(), alive.size(), 500);
    bool all_ended = true;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!children[i].ended && alive[i].revents != 0) reap(children[i], static_cast<int>(i));
      all_ended = all_ended && children[i].ended;
      const int status = children[i].status;
      if (status != kGood && status != kWrongData) return status;
    }
    if (all_ended) break;
    if (const std::uint64_t now = progress.told(); now != seen) {
      seen = now;
      since = now_ns();
    }
    if (static_cast<double>(now_ns() - since) > stall_s * 1e9) {
      std::fprintf(stderr, "nearpeak-native: no progress for %.0f s: ended\n", stall_s);
      return kFailed;
    }
  }
  int status = kGood;
  for (const Child& child : children) status = std::max(status, child.status);
  return status;
}

}  // namespace

int run_rank(int rank, const std::function<int()>& body) {
  try {
    return body();
  } catch (const BadInput& error) {
    std::fprintf(stderr, "nearpeak-native: %s\n", error.what());
    return kBadInput;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "nearpeak-native: process %d: out of memory\n", rank);
    return kFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nearpeak-native: process %d: %s\n", rank, error.what());
    return kFailed;
  }
}

int run_group(const std::vector<int>& cpus, double stall_s,
              const std::function<int(SharedGroup&)>& body) {
  const auto size = static_cast<int>(cpus.size());
  const SharedMemory memory(SharedGroup::memory_bytes(size));
  const auto* members = reinterpret_cast<const SharedGroup::Member*>(memory.data());
  auto distinct = cpus;
  std::sort(distinct.begin(), distinct.end());
  const bool shared = std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end();
  std::fflush(nullptr);  // what is still buffered would be written by each child again
  std::vector<Child> children;
  const pid_t parent = getpid();
  int status = kGood;
  for (int rank = 0; rank < size && status == kGood; ++rank) {
    int ends[2];
    const bool piped = pipe2(ends, O_CLOEXEC) == 0;
    const pid_t pid = piped ? fork() : -1;
    if (pid == 0) {
      const int result = run_child(rank, parent, [&] {
        bind_to_cpu(cpus[static_cast<std::size_t>(rank)]);
        SharedGroup group(memory.data(), rank, size, shared ? Wait::kYield : Wait::kPause);
        return body(group);
      });
      std::fflush(nullptr);
      _exit(result);
    }
    if (pid < 0) {
      std::perror("nearpeak-native: cannot start a process");
      status = kFailed;
    } else {
      children.push_back({pid, ends[0]});
    }
    if (piped) close(ends[1]);
    if (piped && pid < 0) close(ends[0]);
  }
  if (status == kGood) status = watch(children, members[kLeaderRank].met, stall_s);
  end(children);
  for (const Child& child : children) close(child.alive);
  return status;
}

}  // namespace nearpeak
