// SPDX-License-Identifier: Apache-2.0
#include "group/cpu_distances.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <new>
#include <string>

#include "group/shared.hpp"

namespace nearpeak {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPageBytes = 4096;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kBatches = 5;
constexpr int kTrips = 40;  // of each batch
constexpr auto kPatience = std::chrono::milliseconds(20);
constexpr int kTurns = 2;            // of those that missed: something else had a CPU for so long
constexpr char kTries = 3 * kTurns;  // misses in a row; then a pair is not waited for again

// Where a member's page is to be found, and what tells it from another file of that name.
struct Offer {
  std::array<char, 256> host{};
  pid_t process = 0;
  int file = -1;
  dev_t device = 0;
  ino_t inode = 0;
};

int new_file() {
  const int file = memfd_create("nearpeak", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file >= 0 && ftruncate(file, kPageBytes) == 0 && fcntl(file, F_ADD_SEALS, kSeals) == 0)
    return file;
  if (file >= 0) close(file);
  return -1;
}

// The file of another process, or -1. Only what new_file() has made there, of the same user, is
// taken: no other file has these seals.
int open_offered(const Offer& offer, const Offer& own) {
  if (offer.file < 0 || offer.host != own.host) return -1;
  const std::string path =
      "/proc/" + std::to_string(offer.process) + "/fd/" + std::to_string(offer.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat found{};
  if (file >= 0 && fstat(file, &found) == 0 && found.st_dev == offer.device &&
      found.st_ino == offer.inode && found.st_uid == geteuid() &&
      fcntl(file, F_GET_SEALS) == kSeals)
    return file;
  if (file >= 0) close(file);
  return -1;
}

// False after so long.
bool await(const Counter& line, std::uint64_t value, Clock::time_point end) {
  for (int looks = 1; line.told() < value; ++looks)
    if (looks % 1024 == 0 && Clock::now() > end) return false;
  return true;
}

}  // namespace

// One page, as a file that other processes of this host can open.
class CpuDistances::Page {
 public:
  explicit Page(int file) : file_(file) {
    if (file_ < 0) return;
    void* const found = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (found != MAP_FAILED) data_ = found;
  }
  ~Page() {
    if (data_ != nullptr) munmap(data_, kPageBytes);
    if (file_ >= 0) close(file_);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  bool mapped() const { return data_ != nullptr; }
  Counter& line() const { return *static_cast<Counter*>(data_); }
  void clear() const { new (data_) Counter; }

  Offer offer() const {
    Offer out;
    gethostname(out.host.data(), out.host.size() - 1);
    struct stat found{};
    if (!mapped() || fstat(file_, &found) != 0) return out;
    out.process = getpid();
    out.file = file_;
    out.device = found.st_dev;
    out.inode = found.st_ino;
    return out;
  }

 private:
  int file_;
  void* data_ = nullptr;
};

CpuDistances::CpuDistances(Group& group) : group_(group) {
  if (group_.size() < 2 || !group_.hands_over_files()) return;
  own_ = std::make_unique<Page>(new_file());
  const Offer offer = own_->offer();
  const auto offers = group_.gather(offer);
  const auto rank = static_cast<std::size_t>(group_.rank());
  before_ = std::make_unique<Page>(rank == 0 ? -1 : open_offered(offers[rank - 1], offer));
  reached_ = group_.gather<char>(before_->mapped() ? kTries : 0);
}

CpuDistances::~CpuDistances() = default;

// Of this rank to the next one, or with the one before, which has the result.
double CpuDistances::trips(std::size_t first) {
  const bool goes = first == static_cast<std::size_t>(group_.rank());
  Counter& line = goes ? own_->line() : before_->line();
  const auto end = Clock::now() + kPatience;
  std::array<double, kBatches> batches{};
  std::uint64_t at = 0;
  for (double& batch : batches) {
    const auto begin = Clock::now();
    for (int trip = 0; trip < kTrips; ++trip, at += 2) {
      if (goes) line.tell(at + 1);
      if (!await(line, at + (goes ? 2 : 1), end)) return NAN;
      if (!goes) line.tell(at + 2);
    }
    batch = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kTrips;
  }
  const auto middle = batches.begin() + kBatches / 2;
  std::nth_element(batches.begin(), middle, batches.end());
  return *middle;
}

std::vector<std::optional<double>> CpuDistances::measure() {
  std::vector<std::optional<double>> out(static_cast<std::size_t>(group_.size()) - 1);
  if (reached_.empty()) return out;
  for (int round = 0; round < kTurns; ++round) {
    bool missed = false;
    const auto all = tell();
    for (std::size_t first = 0; first < out.size(); ++first) {
      const bool answered = !std::isnan(all[first]);
      if (answered) out[first] = all[first];
      char& tries = reached_[first + 1];
      missed = missed || (!out[first] && tries > 0);
      if (tries > 0) tries = answered ? kTries : static_cast<char>(tries - 1);
    }
    if (!missed) break;
  }
  return out;
}

// Of each rank to the next one; nan: none.
std::vector<double> CpuDistances::tell() {
  const auto rank = static_cast<std::size_t>(group_.rank());
  double to_next = NAN;
  // Every second pair at a time, so that nobody has two partners.
  for (const std::size_t turn : {0u, 1u}) {
    if (own_->mapped()) own_->clear();
    group_.barrier();
    const std::size_t first = rank % 2 == turn ? rank : rank - 1;  // of the first rank: none
    if (first + 1 >= reached_.size() || reached_[first + 1] == 0) continue;
    const double found = trips(first);
    if (first == rank) to_next = found;
  }
  return group_.gather(to_next);
}

}  // namespace nearpeak
