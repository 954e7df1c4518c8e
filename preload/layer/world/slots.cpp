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
    : file_(memfd_create("nearpeak-layer", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!file_) fail("memfd_create");
  if (ftruncate(file_.number(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file_.number(), F_ADD_SEALS, kSeals) != 0)
    fail("cannot make shared memory");
  map(file_, bytes);
}

Shared::Shared(const Process& process, unsigned fd, std::size_t bytes) {
  const File file = process.memory(static_cast<int>(fd));
  if (!file) fail("the file of another process's memory");
  struct stat status{};
  if (fstat(file.number(), &status) != 0 || status.st_uid != geteuid() ||
      static_cast<std::uint64_t>(status.st_size) < bytes || !is_sealed(file.number())) {
    errno = EINVAL;
    fail("the memory of another process");
  }
  map(file, bytes);
}

void Shared::map(const File& file, std::size_t bytes) {
  bytes_ = bytes;
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (data_ == MAP_FAILED) fail("mmap");
}

Shared::~Shared() { munmap(data_, bytes_); }

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

Area::Area(const Process& process, unsigned fd, const Key& key) : memory_(process, fd, kBytes) {
  if (header().key == key) return;
  throw std::system_error(ESRCH, std::generic_category(), "the memory of another process");
}

}  // namespace nearpeak::layer
