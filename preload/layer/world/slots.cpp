// SPDX-License-Identifier: Apache-2.0
#include "layer/world/slots.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace nearpeak::layer {
namespace {

// Its size stays, so that a mapping of it never ends where the file does.
constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

// The kernel may add seals of its own.
bool is_sealed(int file) {
  const int seals = fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Shared::Shared(std::size_t bytes)
    : fd_(memfd_create("nearpeak-layer", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (fd_ < 0) fail("memfd_create");
  if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0 || fcntl(fd_, F_ADD_SEALS, kSeals) != 0) {
    const int error = errno;
    close(fd_);
    errno = error;
    fail("cannot make shared memory");
  }
  map(bytes);
}

Shared::Shared(pid_t process, unsigned fd, std::size_t bytes) {
  const std::string name = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(fd);
  fd_ = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0) fail(name);
  struct stat status{};
  if (fstat(fd_, &status) != 0 || status.st_uid != geteuid() ||
      static_cast<std::uint64_t>(status.st_size) < bytes || !is_sealed(fd_)) {
    close(fd_);
    errno = EINVAL;
    fail(name);
  }
  map(bytes);
  close(fd_);  // the mapping stays
  fd_ = -1;
}

void Shared::map(std::size_t bytes) {
  bytes_ = bytes;
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (data_ != MAP_FAILED) return;
  const int error = errno;
  close(fd_);
  errno = error;
  fail("mmap");
}

Shared::~Shared() {
  munmap(data_, bytes_);
  if (fd_ >= 0) close(fd_);
}

Area::Area() : memory_(kBytes) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&header().combining, &kind);
  pthread_mutexattr_destroy(&kind);
}
Combining::Combining(Header& header) : mutex_(header.combining) {
  const int error = pthread_mutex_lock(&mutex_);
  if (error == EOWNERDEAD)
    pthread_mutex_consistent(&mutex_);
  else if (error != 0)
    throw std::system_error(error, std::generic_category(), "pthread_mutex_lock");
}

Combining::~Combining() { pthread_mutex_unlock(&mutex_); }

void Area::throw_no_index(const char* what, std::uint32_t index) {
  throw std::out_of_range("another rank names " + std::string(what) + " " + std::to_string(index) +
                          ", which does not exist");
}

Area::Area(pid_t process, unsigned fd) : memory_(process, fd, kBytes) {}

}  // namespace nearpeak::layer
