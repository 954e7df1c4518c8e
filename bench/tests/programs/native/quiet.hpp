// SPDX-License-Identifier: Apache-2.0
// What runs of the real modes have in common in the tests.
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "options/options.hpp"
#include "programs/native/process.hpp"
#include "record/record.hpp"

// Options of a run that is short.
inline nearpeak::CommonOptions short_run(const std::string& sizes, const std::string& jsonl) {
  nearpeak::CommonOptions common;
  common.sizes = sizes;
  common.jsonl = jsonl;
  common.cache = std::size_t{1} << 20;  // buffers that rotate are as many on every machine
  common.slot_ms = 0.5;
  common.least_samples = 2;
  return common;
}

// Two CPUs that this process may use; the same one twice where it has only one.
inline std::vector<int> two_cpus() {
  const auto cpus = nearpeak::this_place(0).cpus;
  return {cpus.front(), cpus.back()};
}

// Those of two ranks. Sanitizers make a rank slow, for which the other waits: there both are on one
// CPU, where ranks give way to each other (Wait::kYield). The release build has them on two.
inline std::vector<int> rank_cpus() {
  auto cpus = two_cpus();
#ifdef NEARPEAK_SANITIZED
  cpus.back() = cpus.front();
#endif
  return cpus;
}

// Runs `body` in a process of its own with its output thrown away, or with its errors in the file
// `said`. It may bind itself, forbid itself system calls and die. Not while this process has other
// threads: what locks they hold would be held in the new one for ever.
inline pid_t start_process(const std::function<int()>& body,
                           const std::string& said = "/dev/null") {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    (void)!std::freopen("/dev/null", "w", stdout);
    (void)!std::freopen(said.c_str(), "w", stderr);
    std::setvbuf(stderr, nullptr, _IONBF, 0);  // as it is by itself
    _exit(body());
  }
  return child;
}

// Its exit status, once it has ended.
inline int await_process(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline int in_own_process(const std::function<int()>& body, const std::string& said = "/dev/null") {
  return await_process(start_process(body, said));
}

// A group of processes on these CPUs, in a process of its own: its exit status.
inline int in_group(const std::vector<int>& cpus,
                    const std::function<int(nearpeak::SharedGroup&)>& body, double stall_s = 60) {
  return in_own_process([&] { return nearpeak::run_group(cpus, stall_s, body); });
}

// Of so many processes, on the CPUs that this one may use.
inline int in_group(int size, const std::function<int(nearpeak::SharedGroup&)>& body,
                    double stall_s = 60) {
  const auto usable = nearpeak::this_place(0).cpus;
  std::vector<int> cpus;
  for (int i = 0; i < size; ++i)
    cpus.push_back(usable[static_cast<std::size_t>(i) % usable.size()]);
  return in_group(cpus, body, stall_s);
}
