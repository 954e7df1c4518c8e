// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/file_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <mutex>
#include <system_error>
#include <utility>

#include "accel/quiet_thread.hpp"

namespace nearpeak::layer {
namespace {

using Clock = std::chrono::steady_clock;

// In the place of a file.
constexpr std::int32_t kMemory = -1;
constexpr std::int32_t kProcess = -2;

struct Asked {
  Key key{};
  std::uint32_t question = 0;
  std::int32_t file = kMemory;
};
// With the file, where there is no error.
struct Given {
  std::uint32_t question = 0;  // that it answers
  std::int32_t error = 0;
};

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

// Without a length where the path is too long.
Address address_of(const std::string& path, bool in_files) {
  Address address;
  address.name.sun_family = AF_UNIX;
  if (path.empty() || path.size() + 1 >= sizeof(address.name.sun_path)) return address;
  // Names in the network namespace begin with a zero, and have no end but their length.
  std::memcpy(address.name.sun_path + (in_files ? 0 : 1), path.data(), path.size());
  address.bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);  // NOLINT
  return address;
}

const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.name);
}

// No call waits in the kernel: there a signal of the application's ends it.
File new_socket() {
  return File(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Until the file is ready, or broken. False, and errno, where it is not in time.
bool is_ready(int file, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd look{file, events, 0};
    const int ready = poll(&look, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (left > 0) continue;
    errno = ETIMEDOUT;
    return false;
  }
}

// What `call` returns, which is made anew while a signal or the lack of `events` keeps it.
template <typename Call>
ssize_t in_time(int file, short events, Clock::time_point until, const Call& call) {
  for (;;) {
    const ssize_t done = call();
    if (done >= 0 || (errno != EINTR && errno != EAGAIN)) return done;
    if (errno == EAGAIN && !is_ready(file, events, until)) return -1;
  }
}

// A full queue of who listens is no state of the socket that connects, for which poll could wait.
bool is_connected(int socket, const Address& address, Clock::time_point until) {
  while (connect(socket, generic(address), address.bytes) != 0) {
    if ((errno != EAGAIN && errno != EINTR) || Clock::now() > until) return false;
    usleep(1000);
  }
  return true;
}

// Of who has connected, or who listens. In another user namespace the kernel gives the number that
// this one has for it, which is that of nobody for all that have none.
bool is_of_this_user(int connected) {
  constexpr uid_t kNobody = 65534;
  ucred other{};
  socklen_t bytes = sizeof(other);
  return getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 &&
         other.uid == geteuid() && other.uid != kNobody;
}

// That no other socket has, of few letters.
std::string new_name() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : random_key()) text += kDigits[byte % 16];
  return text;
}

template <std::size_t kBytes>
void put_text(std::array<char, kBytes>& into, const std::string& text) {
  if (text.size() < kBytes) text.copy(into.data(), text.size());
}

// With room for a file.
struct Message {
  Message() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = room.data();
    header.msg_controllen = room.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() = default;

  Given given;
  iovec data{&given, sizeof(given)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr header{};
};

// Who has left is seen when it is looked at for the next question.
void give(int guest, std::uint32_t question, int file) {
  Message message;
  message.given.question = question;
  cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &file, sizeof(file));
  if (sendmsg(guest, &message.header, MSG_NOSIGNAL) == sizeof(Given)) return;
  // There is no such file, or the system hands it to nobody.
  const Given none{.question = question, .error = errno};
  send(guest, &none, sizeof(none), MSG_NOSIGNAL);
}

// The server's process.
class MetProcess final : public Process {
 public:
  MetProcess(File server, const Key& key) : server_(std::move(server)), key_(key) {}

  void read(void* to, const void* from, std::size_t bytes) const override {
    all_of("pread", static_cast<char*>(to), from, bytes,
           [this](char* here, off_t there, auto n) { return pread(all_memory(), here, n, there); });
  }
  void write(void* to, const void* from, std::size_t bytes) const override {
    all_of("pwrite", static_cast<const char*>(from), to, bytes,
           [this](const char* here, off_t there, auto n) {
             return pwrite(all_memory(), here, n, there);
           });
  }
  File file(int number) const override {
    const std::lock_guard lock(asks_);
    return ask(number);
  }
  void watch() const override {
    const std::lock_guard lock(asks_);
    if (!std::exchange(watches_, true)) process_ = ask(kProcess);
  }
  // Its socket says it too late where a child of it, which has it too, lives on.
  bool has_ended() const override {
    const std::lock_guard lock(asks_);
    pollfd look{process_ ? process_.number() : server_.number(), POLLIN, 0};
    const int signs = process_ ? POLLIN | POLLHUP : POLLHUP | POLLERR;
    return poll(&look, 1, 0) == 1 && (look.revents & signs) != 0;
  }

 private:
  File ask(std::int32_t number) const {
    const auto until = Clock::now() + kPatience;
    const int server = server_.number();
    const Asked asked{key_, ++questions_, number};
    const ssize_t sent = in_time(server, POLLOUT, until,
                                 [&] { return send(server, &asked, sizeof(asked), MSG_NOSIGNAL); });
    if (sent != sizeof(asked)) return {};
    for (;;) {
      Message message;
      const ssize_t bytes = in_time(server, POLLIN, until, [&] {
        return recvmsg(server, &message.header, MSG_CMSG_CLOEXEC);
      });
      if (bytes >= 0 && bytes != sizeof(Given)) errno = ECONNRESET;
      if (bytes != sizeof(Given)) return {};
      const cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
      int got = -1;
      if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS)
        std::memcpy(&got, CMSG_DATA(rights), sizeof(got));
      File file(got);
      if (message.given.question != asked.question) continue;  // it comes too late
      const int error = message.given.error;
      if (!file) errno = error != 0 ? error : EPERM;  // the system has left it out
      return file;
    }
  }
  // A file for each process is many for a large machine: only who reads or writes there has it.
  int all_memory() const {
    const std::lock_guard lock(asks_);
    if (!memory_) memory_ = ask(kMemory);
    return memory_.number();
  }
  template <typename Byte, typename Move>
  static void all_of(const char* name, Byte* here, const void* there, std::size_t bytes,
                     const Move& move) {
    auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(there));
    while (bytes > 0) {
      const ssize_t done = move(here, at, bytes);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0)
        throw std::system_error(done < 0 ? errno : EFAULT, std::generic_category(), name);
      here += done;
      at += done;
      bytes -= static_cast<std::size_t>(done);
    }
  }

  const File server_;
  const Key key_;
  mutable std::mutex asks_;
  mutable std::uint32_t questions_ = 0;
  mutable File memory_;  // none where the process has no /proc
  mutable bool watches_ = false;
  mutable File process_;  // none before Linux 5.3
};

// Null where nobody is there.
std::unique_ptr<Process> met_at(const Address& address, const Key& key, Clock::time_point until,
                                NotMet& why) {
  if (address.bytes == 0) return nullptr;
  File connected = new_socket();
  if (!connected) why = NotMet::kNoFiles;  // this one may have no more itself
  if (!connected) return nullptr;
  if (!is_connected(connected.number(), address, until)) {
    if (errno == EACCES) why = NotMet::kOtherUser;  // SELinux says the same
    if (errno == EAGAIN) why = NotMet::kNoFiles;
    return nullptr;
  }
  if (!is_of_this_user(connected.number())) {
    why = NotMet::kOtherUser;
    return nullptr;
  }
  why = NotMet::kNot;
  return std::make_unique<MetProcess>(std::move(connected), key);
}

}  // namespace

FileServer::FileServer(const std::vector<std::string>& folders)
    : memory_(open("/proc/self/mem", O_RDWR | O_CLOEXEC)),
      process_(open_process(getpid())),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
  doors_.key = random_key();
  const std::string name = "nearpeak-" + new_name();
  if (open_door(name, false)) put_text(doors_.name, name);
  std::size_t paths = 0;
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + name;
    if (paths < Doors::kPaths && open_door(path, true)) put_text(doors_.paths.at(paths++), path);
  }
  if (open_.empty()) throw std::system_error(errno, std::generic_category(), "socket");
  thread_ = quiet_thread([this] { serve(); });
}

FileServer::~FileServer() {
  ends_.store(true);
  wake();
  thread_.join();
}

FileServer::Door::~Door() {
  if (!path.empty()) unlink(path.c_str());
}

// Others may connect, where the umask lets them: who they are is seen when they are let in.
bool FileServer::open_door(const std::string& name, bool in_files) {
  const Address address = address_of(name, in_files);
  if (address.bytes == 0) return false;
  Door& door = open_.emplace_back(new_socket());
  const int socket = door.socket.number();
  bool good = bind(socket, generic(address), address.bytes) == 0;
  if (good && in_files) door.path = name;
  good = good && listen(socket, SOMAXCONN) == 0;
  if (!good) open_.pop_back();
  return good;
}

void FileServer::close_doors() {
  closes_.store(true);
  wake();
  while (closes_.load()) usleep(100);
}

void FileServer::wake() {
  const std::uint64_t one = 1;
  while (write(wake_.number(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

void FileServer::serve() {
  std::vector<pollfd> all;
  for (;;) {
    all.assign(1, {wake_.number(), POLLIN, 0});
    for (const Door& door : open_) all.push_back({door.socket.number(), POLLIN, 0});
    for (const File& guest : guests_) all.push_back({guest.number(), POLLIN, 0});
    if (poll(all.data(), all.size(), -1) < 0) {
      // The application may have lowered the limit of files, which poll then refuses for ever. No
      // call below waits: all are looked at now and then.
      usleep(1000);
      for (pollfd& look : all) look.revents = POLLIN;
    }
    if (ends_.load()) return;
    if (closes_.load()) {
      // No more than wait: others may come for ever.
      for (const Door& door : open_)
        for (int in = 0; in < SOMAXCONN && let_in(door.socket.number()); ++in) {
        }
      open_.clear();
      closes_.store(false);
      continue;
    }
    auto ready = std::next(all.begin(), static_cast<std::ptrdiff_t>(1 + open_.size()));
    for (auto guest = guests_.begin(); guest != guests_.end(); ++ready) {
      const bool leaves = ready->revents != 0 && !answer(guest->number());
      guest = leaves ? guests_.erase(guest) : std::next(guest);
    }
    ready = std::next(all.begin());
    for (const Door& door : open_)
      if ((ready++)->revents != 0) let_in(door.socket.number());
    std::uint64_t wakes = 0;
    while (all[0].revents != 0 && read(wake_.number(), &wakes, sizeof(wakes)) > 0) {
    }
  }
}

// False where nobody is at the door.
bool FileServer::let_in(int door) {
  File guest(accept4(door, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!guest) {
    usleep(1000);  // without a free number it is ready for ever
    return false;
  }
  if (is_of_this_user(guest.number())) guests_.push_back(std::move(guest));
  return true;
}

// False where it has left, or has not the key.
bool FileServer::answer(int guest) const {
  Asked asked;
  const ssize_t bytes = recv(guest, &asked, sizeof(asked), MSG_DONTWAIT);
  if (bytes != sizeof(asked)) return bytes < 0 && errno == EAGAIN;
  if (asked.key != doors_.key) return false;
  int file = asked.file;
  if (file == kMemory) file = memory_.number();
  if (file == kProcess) file = process_.number();
  give(guest, asked.question, file);
  return true;
}

std::unique_ptr<Process> meet(const Doors& doors, NotMet& why, Clock::time_point until) {
  why = NotMet::kNowhere;
  if (auto met = met_at(address_of(doors.name.data(), false), doors.key, until, why)) return met;
  for (const auto& path : doors.paths)
    if (auto met = met_at(address_of(path.data(), true), doors.key, until, why)) return met;
  return nullptr;
}

}  // namespace nearpeak::layer
