// SPDX-License-Identifier: Apache-2.0
#include "native/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

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

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(std::max<std::size_t>(bytes, 1)),
      data_(static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  if (data_ == MAP_FAILED) throw std::bad_alloc();
}

SharedMemory::~SharedMemory() { munmap(data_, bytes_); }

void* SharedMemory::allocate(std::size_t bytes) {
  if (bytes > bytes_) throw std::bad_alloc();
  return data_;
}

std::uint64_t SharedTeam::agree(std::uint64_t value) {
  ++round_;
  if (leads()) {
    desk_.value = value;
    desk_.asked.value.store(round_, std::memory_order_release);
    wait_.until([&] { return desk_.answered.value.load(std::memory_order_acquire) == round_; });
    return value;
  }
  wait_.until([&] { return desk_.asked.value.load(std::memory_order_acquire) == round_; });
  const std::uint64_t agreed = desk_.value;
  desk_.answered.value.store(round_, std::memory_order_release);
  return agreed;
}

std::string SharedTeam::tell_leader(const std::string& text) {
  if (!leads()) {
    if (text.size() > Desk::kMostText) throw std::runtime_error("too much to tell the leader");
    desk_.text_bytes = text.size();
    std::memcpy(desk_.text, text.data(), text.size());
  }
  agree(0);
  std::string told = leads() ? std::string(desk_.text, desk_.text_bytes) : std::string();
  agree(0);
  return told;
}

namespace {

struct Child {
  pid_t pid;
  int alive;  // the read end of a pipe that it holds open: readable when it is gone
  bool ended = false;
  int status = kGood;
};

int run_child(int rank, pid_t parent, const std::function<int(int)>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return kFailed;  // it was gone before
  try {
    return body(rank);
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
int watch(std::vector<Child>& children, const std::atomic<std::uint64_t>& progress,
          double stall_s) {
  std::uint64_t seen = progress.load();
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
    if (const std::uint64_t now = progress.load(); now != seen) {
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

int run_processes(int count, const std::atomic<std::uint64_t>& progress, double stall_s,
                  const std::function<int(int)>& body) {
  std::fflush(nullptr);  // what is still buffered would be written by each child again
  std::vector<Child> children;
  const pid_t parent = getpid();
  int status = kGood;
  for (int rank = 0; rank < count && status == kGood; ++rank) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      std::perror("nearpeak-native: pipe");
      status = kFailed;
      break;
    }
    const pid_t pid = fork();
    if (pid == 0) {
      const int result = run_child(rank, parent, body);
      std::fflush(nullptr);
      _exit(result);
    }
    close(ends[1]);
    if (pid < 0) {
      std::perror("nearpeak-native: fork");
      close(ends[0]);
      status = kFailed;
      break;
    }
    children.push_back({pid, ends[0]});
  }
  if (status == kGood) status = watch(children, progress, stall_s);
  end(children);
  for (const Child& child : children) close(child.alive);
  return status;
}

}  // namespace nearpeak
