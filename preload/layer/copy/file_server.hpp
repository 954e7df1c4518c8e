// SPDX-License-Identifier: Apache-2.0
// A process as others reach it that have no number for it, as in another container: by sockets, on
// which it hands over files (SCM_RIGHTS). One of these is its memory (/proc/self/mem), which the
// kernel then lets who has the file read and write.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "layer/copy/key.hpp"
#include "layer/copy/process.hpp"

namespace nearpeak::layer {

// The names of the sockets, for processes that have the key. Names that are empty are not there.
struct Doors {
  static constexpr std::size_t kPaths = 2;
  static constexpr std::size_t kMostOfFolder = 80;    // letters; the kernel has room for 107
  std::array<char, 64> name{};                        // in the network namespace,
  std::array<std::array<char, 108>, kPaths> paths{};  // and in the file system
  Key key{};
};

enum class NotMet : std::uint32_t {
  kNot = 0,    // it is met
  kNowhere,    // no socket is reached: they share no network, and none of the folders
  kOtherUser,  // it is another user's, or the system's policy forbids to connect
  kNoFiles     // the system hands no files over between them, or it has not answered
};

// Only processes of this user that have the key get something, and they get everything: they may
// read and write all memory and files of this one. So does who may trace it.
class FileServer {
 public:
  // Has sockets in these folders, where they may be. Throws std::system_error where there are none.
  explicit FileServer(const std::vector<std::string>& folders);
  ~FileServer();
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;

  const Doors& doors() const { return doors_; }
  // From now on nobody is met any more. Those that are stay.
  void close_doors();

 private:
  struct Door {
    explicit Door(File unnamed) : socket(std::move(unnamed)) {}
    ~Door();
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;
    File socket;
    std::string path;  // removed at the end
  };

  bool open_door(const std::string& name, bool in_files);
  void serve();
  bool let_in(int door);
  bool answer(int guest) const;
  void wake();

  Doors doors_;
  File memory_;
  File process_;
  File wake_;
  std::list<Door> open_;    // the thread's own once it runs,
  std::list<File> guests_;  // and so are these
  std::atomic<bool> closes_{false};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

// The other process may have no CPU for a while.
constexpr std::chrono::seconds kPatience{30};
// The process behind the doors. Null, and why, where it is not met by then.
std::unique_ptr<Process> meet(
    const Doors& doors, NotMet& why,
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::now() + kPatience);

}  // namespace nearpeak::layer
