// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/handshake.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "accel/abandoned.hpp"
#include "accel/background.hpp"
#include "accel/gpu/kept_code.hpp"
#include "accel/visit.hpp"
#include "layer/datatype/types.hpp"
#include "layer/protocol/advance.hpp"
#include "layer/protocol/copy_proxy.hpp"
#include "layer/protocol/launched.hpp"
#include "layer/protocol/neighbours.hpp"
#include "layer/protocol/opening.hpp"
#include "layer/protocol/receive_copies.hpp"
#include "layer/world/world.hpp"
#include "options/options.hpp"

namespace nearpeak::layer {
namespace {

constexpr std::uint32_t kProtocol = 7;  // of envelopes, slots and this agreement
constexpr int kNeverTag = 2;            // of world.own
constexpr int kTag = 32749;             // on MPI_COMM_WORLD, before the application sends anything
enum class Abi : std::uint32_t { kOpenMpi = 1, kMpich = 2, kStandard = 3 };
#ifdef OMPI_MAJOR_VERSION
constexpr Abi kAbi = Abi::kOpenMpi;
constexpr char kLaunched[] = "OMPI_COMM_WORLD_SIZE";
#elif defined(NEARPEAK_STANDARD_ABI)
constexpr Abi kAbi = Abi::kStandard;
constexpr char kLaunched[] = "PMI_SIZE";  // of the libraries that have it today
#else
constexpr Abi kAbi = Abi::kMpich;
constexpr char kLaunched[] = "PMI_SIZE";
#endif

struct Hello {
  std::array<char, 8> mark{'n', 'p', 'l', 'a', 'y', 'e', 'r', '\0'};
  std::uint32_t protocol = kProtocol;
  Abi abi = kAbi;
  bool operator==(const Hello&) const = default;
};

struct Answer {
  std::int32_t missing = 0;  // ranks without the layer
  std::int32_t one = 0;      // of them
  Nonce nonce{};
};

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds wait)
      : end_(std::chrono::steady_clock::now() + wait) {}
  bool passed() const { return std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

// Whether it is complete in time; else it is cancelled.
bool complete(MPI_Request& request, const Deadline& deadline) {
  for (int tries = 0;; ++tries) {
    int done = 0;
    NEARPEAK_REAL(MPI_Test)(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
    if (deadline.passed()) break;
    if (tries > 100) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  NEARPEAK_REAL(MPI_Cancel)(&request);
  MPI_Status status;
  int cancelled = 0;
  NEARPEAK_REAL(MPI_Wait)(&request, &status);
  NEARPEAK_REAL(MPI_Test_cancelled)(&status, &cancelled);
  return cancelled == 0;
}

MPI_Request receiving(void* data, std::size_t bytes, int from) {
  MPI_Request request{};
  NEARPEAK_REAL(MPI_Irecv)
  (data, static_cast<int>(bytes), calls::byte_type(), from, kTag, calls::comm_world(), &request);
  return request;
}

MPI_Request sending(const void* data, std::size_t bytes, int to) {
  MPI_Request request{};
  NEARPEAK_REAL(MPI_Isend)
  (data, static_cast<int>(bytes), calls::byte_type(), to, kTag, calls::comm_world(), &request);
  return request;
}

bool without_rank_0 = false;  // it did not answer

// Of rank 0: what it says to all that have the layer.
Answer asked_all(const Deadline& deadline) {
  const auto ranks = static_cast<std::size_t>(world.size);
  std::vector<Hello> hellos(ranks);
  std::vector<MPI_Request> requests(ranks);
  for (std::size_t i = 1; i < ranks; ++i)
    requests[i] = receiving(&hellos[i], sizeof(Hello), static_cast<int>(i));
  Answer answer;
  answer.nonce = random_key();
  std::vector<int> there;
  for (std::size_t i = 1; i < ranks; ++i) {
    const bool came = complete(requests[i], deadline);
    if (came) there.push_back(static_cast<int>(i));
    if (came && hellos[i] == Hello{}) continue;
    ++answer.missing;
    answer.one = static_cast<int>(i);
  }
  for (const int rank : there) {
    MPI_Request request = sending(&answer, sizeof(answer), rank);
    NEARPEAK_REAL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
  }
  return answer;
}

Answer asked_rank_0(const Deadline& deadline) {
  const Hello hello;
  Answer answer;
  MPI_Request answering = receiving(&answer, sizeof(answer), 0);
  MPI_Request request = sending(&hello, sizeof(hello), 0);
  NEARPEAK_REAL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
  without_rank_0 = !complete(answering, deadline);
  if (without_rank_0) answer.missing = 1;
  return answer;
}

// The ABI of the library that is called. The standard one is a file of its own, of which the
// library says what it says of its other one.
Abi called_abi() {
  auto* const version_of = NEARPEAK_REAL(MPI_Get_library_version);
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(version_of), &found) != 0 &&
      std::filesystem::path(found.dli_fname).filename().string().starts_with("libmpi_abi"))
    return Abi::kStandard;
  // MPI_MAX_LIBRARY_VERSION_STRING of MPICH: Open MPI's, 256, is too short for what MPICH says.
  static std::array<char, 8192> said;
  char* const text = said.data();
  int length = 0;
  version_of(text, &length);
  const bool open =
      std::strstr(text, "Open MPI") != nullptr || std::strstr(text, "Spectrum MPI") != nullptr;
  return open ? Abi::kOpenMpi : Abi::kMpich;
}

// Why this layer is not for the library that is called; null if it is.
const char* of_another_abi() {
  const Abi called = called_abi();
  if (called == kAbi) return nullptr;
  if (called == Abi::kStandard)
    return "this program has MPI by the standard ABI (libmpi_abi.so), and this layer is for "
           "another one: take that of the standard ABI, by `nearpeak layer --standard-abi`";
  if (kAbi == Abi::kStandard)
    return "it is for the standard ABI (libmpi_abi.so), by which this program does not have MPI: "
           "take that of its library, by `nearpeak layer` without --standard-abi";
  return "it is for the ABI of another MPI library than this program's: take that of the library, "
         "by `nearpeak layer --mpi`";
}

// Whether another layer is loaded before this one, which would take the same calls.
bool second() {
  const char* const variable = "NEARPEAK_LAYER_PROCESS";
  // In another PID namespace another process has this number: maybe this one's parent.
  const std::string own = std::to_string(getpid()) + "@" + std::to_string(own_process_namespace());
  const char* const before = std::getenv(variable);
  if (before != nullptr && own == before) return true;
  setenv(variable, own.c_str(), 1);
  return false;
}

// `nearpeak layer --require` looks whether some process came here.
void note_reached() {
  const char* const file = std::getenv("NEARPEAK_LAYER_REACHED");
  if (file == nullptr || *file == '\0' || world.rank != 0) return;
  const int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) close(fd);
}

// The settings, at whose error the process ends.
void read_settings() {
  try {
    world.settings = settings_of_environment();
  } catch (const BadInput& error) {
    say(error.what());
    std::exit(kBadInput);
  }
}

// Whether the launcher has started several processes, of which each is alone to the MPI library; if
// one rank of them is to say so, it does.
bool each_alone() {
  const Launched all = launched(kLaunched);
  if (world.size > 1 || all.processes < 2) return false;
  if (all.rank == 0)
    say(std::string(world.settings.required ? "it must be on between all ranks, and is not: "
                                            : "") +
        "each process is alone: MPI_COMM_WORLD has 1, and the launcher has started " +
        std::to_string(all.processes) + " (" + all.variable +
        "): take the launcher of this program's MPI library");
  return true;
}

// Why the layer is off; empty where it is on.
std::string agreed() {
  // Rank 0 answers when it has waited for all others.
  const auto wait = world.settings.handshake * (world.rank == 0 ? 1 : 2);
  const Answer answer = world.rank == 0 ? asked_all(Deadline(wait)) : asked_rank_0(Deadline(wait));
  if (answer.missing != 0)
    return std::to_string(answer.missing) + " of " + std::to_string(world.size) +
           " ranks have no layer of this build, as rank " + std::to_string(answer.one) +
           ": set LD_PRELOAD on all of them, or NEARPEAK_LAYER_HANDSHAKE to more seconds";
  world.nonce = answer.nonce;
  std::string why;
  const bool driver = world.devices.load(why);
  if (meet_neighbours(driver) == 0) return "no rank has a driver of GPUs (" + why + ")";
  return "";
}

// Whether no rank that is known of has kernels that take turns with those of this one: the others
// leave their copies to the proxy.
bool is_alone(int device) {
  if (world.devices.runs_several(device)) return true;
  if (world.accepts_envelopes.load() && device == world.home && is_copy_proxy()) return true;
  const std::string& uuid = world.devices.uuid(device);
  for (std::size_t i = 0; i < world.areas.size(); ++i) {
    if (!world.areas[i] || i == static_cast<std::size_t>(world.rank)) continue;
    const Header& other = world.areas[i]->header();
    if (other.accepts_envelopes.load(std::memory_order_acquire) != 0 && uuid == other.uuid.data())
      return false;
  }
  return true;
}

std::string of_copy_proxy() {
  const Counts& counts = world.counts;
  if (counts.served_requests + counts.proxied_copies + counts.withdrawn_requests == 0) return "";
  return std::to_string(counts.served_requests) + " copies for others of the GPU, " +
         std::to_string(counts.proxied_copies) + " by another, " +
         std::to_string(counts.withdrawn_requests) + " that it came too late for; ";
}

std::string of_batches() {
  const Counts& counts = world.counts;
  if (counts.batches == 0) return "";
  return " (" + std::to_string(counts.batched_receives) + " in " + std::to_string(counts.batches) +
         " batches)";
}

std::string of_copies() {
  const Counts& counts = world.counts;
  if (counts.copied_sends + counts.copied_collectives == 0) return "";
  return std::to_string(counts.copied_sends) + " sends and " +
         std::to_string(counts.copied_collectives) + " collectives staged on the device; ";
}

// What was found of longer copies between devices.
std::string of_crossovers() {
  std::string text;
  for (const auto& [rank, crossover] : world.devices.crossovers())
    if (crossover.found())
      text += (text.empty() ? " (up to " : ", ") + std::to_string(crossover.kernel_bytes()) +
              " bytes from rank " + std::to_string(rank);
  return text.empty() ? text : text + ")";
}

std::string of_kernels() {
  const Devices::Short copies = world.devices.short_copies();
  return std::to_string(copies.carried) + " of " + std::to_string(copies.all) +
         " short copies by a kernel" + of_crossovers() + ", " +
         std::to_string(world.devices.moved_by_kernel()) + " of datatypes" +
         (copies.why_not.empty() ? "" : ": " + copies.why_not);
}

// Beside the layer's library.
std::string folder_of_code() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&folder_of_code), &library) == 0) return "";
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(library.dli_fname, error);
  return error ? "" : file.parent_path() / "kernels";
}

}  // namespace

#if NEARPEAK_MPI_LEVEL >= 40
void begin_without_init(MPI_Comm made) {
  static std::atomic<bool> told{false};
  int initialized = 0;
  NEARPEAK_REAL(MPI_Initialized)(&initialized);
  if (initialized != 0 || told.exchange(true)) return;
  read_settings();
  if (world.settings.off) return;
  NEARPEAK_REAL(MPI_Comm_rank)(made, &world.rank);
  note_reached();
  const bool ends = world.settings.required;
  if (world.rank == 0)
    say(std::string(ends ? "it must be on, and is not: " : "off: ") +
        "the application has made a communicator out of a session before MPI_Init, in which ranks "
        "agree on the layer");
  if (!ends) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // as in abort_job
  NEARPEAK_REAL(MPI_Abort)(made, kBadInput);
  std::_Exit(kBadInput);
}
#endif

void begin() {
  if (second()) {
    say("two layers are loaded: name one in LD_PRELOAD, the one of this program's MPI library");
    std::exit(kBadInput);
  }
  read_settings();
  if (world.settings.off) return;
  if (const char* const why = of_another_abi()) {
    say(why);
    std::exit(kBadInput);
  }
  NEARPEAK_REAL(MPI_Comm_rank)(calls::comm_world(), &world.rank);
  NEARPEAK_REAL(MPI_Comm_size)(calls::comm_world(), &world.size);
  note_reached();
  if (each_alone() && world.settings.required) abort_job(kBadInput);
  const std::string why = agreed();
  if (!why.empty()) {
    // Rank 0 without the layer has messages of the others that it will never receive.
    const bool ends = world.settings.required || without_rank_0;
    const bool first = world.rank == (without_rank_0 ? 1 : 0);  // that has it, most likely
    if (first) say((ends ? "it must be on, and is not: " : "off: ") + why);
    if (ends) abort_job(kBadInput);
    return;
  }
  if (world.settings.awaits_default_stream && world.devices.loaded()) world.default_stream.load();
  int given = 0;
  NEARPEAK_REAL(MPI_Query_thread)(&given);
  world.multiple = given == MPI_THREAD_MULTIPLE;
  MemoryLock::expect(world.multiple);
  world.devices.tell_of_freed(
      [](std::uint32_t rank) {
        const auto& area = world.areas[rank];
        return area ? &area->header().freed : nullptr;
      },
      static_cast<std::uint32_t>(world.rank));
  if (world.mapped)
    world.devices.share_chunks(world.area().chunks(), [](std::uint32_t rank) {
      const auto& area = world.areas[rank];
      return area ? ChunkOwner{&area->chunks(), world.processes[rank].get()} : ChunkOwner{};
    });
  // Copies for others are where all of these open them.
  if (world.file_server) world.devices.use_room(Devices::Room::kChunks);
  NEARPEAK_REAL(MPI_Comm_dup)(calls::comm_self(), &world.own);
  convert_through(world.own);
  NEARPEAK_REAL(MPI_Comm_dup)(calls::comm_world(), &world.everyone);
  NEARPEAK_REAL(MPI_Irecv)
  (nullptr, 0, calls::byte_type(), 0, kNeverTag, world.own, &world.never);
  if (world.settings.keeps_code) gpu::keep_code_in(folder_of_code());
  world.devices.use_kernels(world.settings.kernel, is_alone);
  world.devices.when_closing(wait_copies);
  world.devices.when_reset(
      [](int device) {
        abandon(world.pieces[device]);
        world.pinned.forget(device);
        if (device == world.home) world.trial = {};
      },
      [](int device) {
        if (device == world.home && world.accepts_envelopes.load()) give_trial(device);
      });
  Visit::expect(true);
  world.on = true;
}

void end() {
  if (!world.on) return;
  {
    const Guard guard;
    finish_all();
    end_serving();
    world.devices.abandon_reset();
    world.pieces.clear();
    world.copy_helpers.reset();
    world.pinned.end();
    world.trial = {};
    world.devices.close_all();
    if (const std::string slow = world.slow_sends.line(); !slow.empty())
      say("rank " + std::to_string(world.rank) + ": " + slow);
    const Counts& counts = world.counts;
    if (world.settings.report && !world.accepts_envelopes.load() && counts == Counts())
      say("rank " + std::to_string(world.rank) +
          ": sent and received nothing in memory of a device");
    else if (world.settings.report)
      say("rank " + std::to_string(world.rank) + ": sent " + std::to_string(counts.envelope_sends) +
          " by envelope (" + std::to_string(counts.set_aside_sends) + " set aside), " +
          std::to_string(counts.staged_sends) + " through host memory (" +
          std::to_string(counts.chunked_sends) + " in parts); received " +
          std::to_string(counts.envelope_receives) + " by envelope" + of_batches() + ", " +
          std::to_string(counts.staged_receives) + " through host memory (" +
          std::to_string(counts.chunked_receives) + " in parts); " +
          std::to_string(counts.direct_collectives) + " collectives directly, " +
          std::to_string(counts.shadowed_calls) +
          " collectives and other calls through host memory; " +
          std::to_string(counts.window_accesses) + " accesses to windows; " + of_copies() +
          of_copy_proxy() + of_kernels());
    if (world.settings.by_length && world.rank == 0) say("set: " + told(world.settings));
    for (const std::string& line : world.routes.lines())
      say("rank " + std::to_string(world.rank) + ": " + line);
    NEARPEAK_REAL(MPI_Cancel)(&world.never);
    NEARPEAK_REAL(MPI_Wait)(&world.never, MPI_STATUS_IGNORE);
    NEARPEAK_REAL(MPI_Comm_free)(&world.own);
    NEARPEAK_REAL(MPI_Comm_free)(&world.everyone);
    world.file_server.reset();
    world.on = false;
    world.ended = true;
  }
  Background::wait_for_all();
}

}  // namespace nearpeak::layer
