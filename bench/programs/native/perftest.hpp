// SPDX-License-Identifier: Apache-2.0
// A program of perftest (https://github.com/linux-rdma/perftest), as a child of this process, and
// what it prints.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nearpeak {

// One run of a program that is looked for on PATH. It ends with this process, or with the object.
class ChildProgram {
 public:
  using Environment = std::map<std::string, std::string>;  // variables beside those of this process

  explicit ChildProgram(const std::vector<std::string>& arguments,
                        const Environment& environment = {});
  ~ChildProgram();
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  // Both return an empty text, or why not; after `seconds` the program is ended.
  std::string wait_listening(int port, double seconds);
  std::string wait_end(double seconds);  // that it ends well
  void stop();
  std::string output() const;

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  bool ended();
  std::string why() const;  // its first line of error, or how it ended

  std::string name_;
  // Files, not pipes: a program that says much never waits for somebody to read it.
  File output_;
  File errors_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

// What the program's table says of messages of so many bytes: half a round trip, or a rate.
// Nothing where there is no such row, or the number is none.
std::optional<double> perftest_latency_us(const std::string& output, std::size_t bytes);
std::optional<double> perftest_gbs(const std::string& output, std::size_t bytes);

}  // namespace nearpeak
