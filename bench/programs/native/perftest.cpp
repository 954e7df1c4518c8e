// SPDX-License-Identifier: Apache-2.0
#include "programs/native/perftest.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "sampling/clock.hpp"

namespace nearpeak {
namespace {

constexpr int kAskMs = 5;

std::string contents(std::FILE* file) {
  std::string text;
  char part[4096];
  off_t at = 0;
  // Its position is the program's too, which may still be writing.
  for (ssize_t got = 0; (got = pread(fileno(file), part, sizeof part, at)) > 0; at += got)
    text.append(part, static_cast<std::size_t>(got));
  return text;
}

[[noreturn]] void become(std::vector<char*>& arguments, pid_t parent, int output, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  // Devices are numbered as in the tools of NVIDIA, not by speed.
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  execvp(arguments[0], arguments.data());
  dprintf(STDERR_FILENO, "%s\n",
          errno == ENOENT ? "not on PATH: install perftest" : std::strerror(errno));
  _exit(127);
}

// Whether a TCP socket of this host listens there, as the kernel tells.
bool somebody_listens(int port) {
  constexpr int kListens = 0x0A;  // TCP_LISTEN in the kernel's numbers
  for (const char* path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      unsigned local = 0;
      unsigned state = 0;
      if (std::sscanf(line.c_str(), " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &local,
                      &state) == 2 &&
          state == kListens && local == static_cast<unsigned>(port))
        return true;
    }
  }
  return false;
}

// The wanted column of the row for `bytes`, and the column's unit.
struct Value {
  double number;
  std::string unit;
};

struct Column {
  std::string name;
  std::string unit;
};

// "#bytes BW average[MiB/sec]": a name may be of several words, and ends with its unit.
std::vector<Column> columns_of(const std::string& header) {
  std::vector<Column> columns;
  std::istringstream words(header);
  std::string name;
  for (std::string word; words >> word;) {
    name += (name.empty() ? "" : "_") + word;
    const std::size_t open = name.find('[');
    if (open == std::string::npos && name[0] != '#') continue;
    const bool unit = open != std::string::npos;
    columns.push_back(
        {name.substr(0, open), unit ? name.substr(open + 1, name.find(']', open) - open - 1) : ""});
    name.clear();
  }
  return columns;
}

std::vector<double> numbers_of(const std::string& line) {
  std::vector<double> numbers;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    char* end = nullptr;
    numbers.push_back(std::strtod(word.c_str(), &end));
    if (*end != '\0') return {};
  }
  return numbers;
}

std::optional<Value> find_value(const std::string& output, std::size_t bytes,
                                const std::string& name) {
  std::istringstream lines(output);
  std::vector<Column> columns;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("#bytes") != std::string::npos) {
      columns = columns_of(line);
      continue;
    }
    const auto column = std::find_if(columns.begin(), columns.end(),
                                     [&](const Column& each) { return each.name == name; });
    const auto index = static_cast<std::size_t>(column - columns.begin());
    const std::vector<double> row = numbers_of(line);  // remarks stand between header and row
    if (column == columns.end() || index >= row.size() || row[0] != static_cast<double>(bytes))
      continue;
    if (!std::isfinite(row[index]) || row[index] <= 0) return std::nullopt;
    return Value{row[index], column->unit};
  }
  return std::nullopt;
}

}  // namespace

ChildProgram::ChildProgram(const std::vector<std::string>& arguments,
                           const Environment& environment)
    : name_(arguments[0]),
      output_(std::tmpfile(), std::fclose),
      errors_(std::tmpfile(), std::fclose) {
  if (!output_ || !errors_)
    throw std::runtime_error(std::string("no temporary file: ") + std::strerror(errno));
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& copy : copies) pointers.push_back(copy.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    become(pointers, parent, fileno(output_.get()), fileno(errors_.get()));
  }
}

ChildProgram::~ChildProgram() { stop(); }

bool ChildProgram::ended() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

void ChildProgram::stop() {
  if (ended()) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  ended_ = true;
}

std::string ChildProgram::output() const { return contents(output_.get()); }

std::string ChildProgram::why() const {
  std::istringstream lines(contents(errors_.get()));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    // libibverbs warns of every driver that it has no use for.
    if (first == std::string::npos || line.find("arning") != std::string::npos) continue;
    return name_ + ": " + line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
  }
  if (WIFSIGNALED(status_)) return name_ + ": ended by signal " + std::to_string(WTERMSIG(status_));
  return name_ + ": exit status " + std::to_string(WEXITSTATUS(status_));
}

std::string ChildProgram::wait_listening(int port, double seconds) {
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (true) {
    if (ended()) return why();
    if (somebody_listens(port)) return "";
    if (now_ns() > end) {
      stop();
      return name_ + ": does not wait for the other end within " +
             std::to_string(static_cast<int>(std::ceil(seconds))) + " s";
    }
    poll(nullptr, 0, kAskMs);
  }
}

std::string ChildProgram::wait_end(double seconds) {
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (!ended()) {
    if (now_ns() > end) {
      stop();
      return name_ + ": no end within " + std::to_string(static_cast<int>(std::ceil(seconds))) +
             " s";
    }
    poll(nullptr, 0, kAskMs);
  }
  return WIFEXITED(status_) && WEXITSTATUS(status_) == 0 ? "" : why();
}

std::optional<double> perftest_latency_us(const std::string& output, std::size_t bytes) {
  const auto typical = find_value(output, bytes, "t_typical");
  if (!typical || typical->unit != "usec") return std::nullopt;
  return typical->number;
}

std::optional<double> perftest_gbs(const std::string& output, std::size_t bytes) {
  const auto average = find_value(output, bytes, "BW_average");
  if (!average) return std::nullopt;
  // perftest's MB are 2^20 bytes; newer versions call them MiB.
  double unit = 0;
  if (average->unit == "MB/sec" || average->unit == "MiB/sec") unit = 1 << 20;
  if (average->unit == "Gb/sec") unit = 1e9 / 8;
  if (unit == 0) return std::nullopt;
  // A rate has two decimals, and that of messages six: of small ones it is the finer word.
  const auto messages = find_value(output, bytes, "MsgRate");
  if (messages && messages->unit == "Mpps" && static_cast<double>(bytes) < unit / 100)
    return messages->number * static_cast<double>(bytes) / 1e3;
  return average->number * unit / 1e9;
}

}  // namespace nearpeak
