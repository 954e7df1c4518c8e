// SPDX-License-Identifier: Apache-2.0
// Every backend on the devices of this machine, with the vendor's own driver; where there are none
// it says so. What no fake can do is here: kernels as the vendor's compiler and GPUs have them.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "accel/allocators.hpp"
#include "accel/persistent_copy_kernel.hpp"
#include "accel/resident.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

constexpr std::array<std::size_t, 8> kSizes{1, 7, 8, 9, 4095, 65536, 1000003, 64 << 20};
constexpr std::uint64_t kSeed = 0x5EED;
constexpr std::size_t kOpenedBytes = 1000003;

// The devices that can be used here, in a process of their own: a driver does not survive a fork.
// Returns how many there were, or -1 where a check failed.
template <class Check>
int on_every_device(Check check) {
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    try {
      for (const Backend& backend : backends()) {
        std::unique_ptr<Accelerator> accelerator;
        try {
          accelerator = backend.load();
        } catch (const BackendUnavailable&) {
          continue;
        }
        for (const DeviceInfo& info : accelerator->devices()) {
          if (!info.unusable.empty()) continue;
          ++count;
          if (!check(backend.name, accelerator->device(info.index))) _exit(255);
        }
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(255);
    }
    _exit(count);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 255) return -1;
  if (WEXITSTATUS(status) == 0) MESSAGE("skipped: no device on this machine");
  return WEXITSTATUS(status);
}

bool expect(bool good, const char* what, const Device& device) {
  if (!good) std::fprintf(stderr, "%s: %s\n", device.info().name.c_str(), what);
  return good;
}

}  // namespace

TEST_CASE("a real device: kernels fill and verify, and see a wrong byte") {
  CHECK(on_every_device([](const std::string&, Device& device) {
          const std::string why = why_no_kernels(device);
          if (device.kernels() != nullptr && !expect(why.empty(), why.c_str(), device))
            return false;
          for (const BufferKind kind :
               {BufferKind::kDevice, BufferKind::kManaged, BufferKind::kPinned}) {
            try {
              Memory& memory = device.memory(kind);
              memory.release(memory.allocate(1));
            } catch (const AcceleratorError& error) {
              // Only managed memory is optional.
              std::fprintf(stderr, "%s\n", error.what());
              if (kind == BufferKind::kManaged) continue;
              return false;
            }
            Memory& memory = device.memory(kind);
            for (const std::size_t bytes : kSizes) {
              SlotBuffer slots(memory, bytes, bytes > 1000000 ? 1 : 5);
              slots.poison(kSeed);
              slots.fill({kSeed});
              slots.fill({kSeed, 3}, Part::kStamps);
              bool good = expect(!slots.find_mismatch({kSeed, 3}), "filled", device);
              // What the device wrote is what the host would have written.
              std::vector<char> host(slots.layout().stride * slots.layout().count);
              memory.to_host(host.data(), slots.slot(0), host.size());
              good &= expect(!find_mismatch(host.data(), slots.layout(), {kSeed, 3}),
                             "same on the host", device);
              const std::size_t place = slots.layout().stride * (slots.layout().count - 1);
              const char byte = static_cast<char>(host[place] ^ 0x40);
              memory.from_host(slots.slot(0) + place, &byte, 1);
              const auto wrong = slots.find_mismatch({kSeed, 3}, Part::kStamps);
              good &= expect(wrong && wrong->slot == slots.layout().count - 1 && wrong->byte == 0,
                             "the wrong byte", device);
              slots.poison(kSeed);
              const auto first = slots.find_mismatch({kSeed, 3});
              good &= expect(first && first->slot == 0 && first->byte == 0, "poisoned", device);
              if (!good) return false;
            }
          }
          return true;
        }) >= 0);
}

TEST_CASE("a real device: streams and events") {
  CHECK(on_every_device([](const std::string&, Device& device) {
          Memory& memory = device.memory(BufferKind::kDevice);
          SlotBuffer from(memory, 64 << 20, 1);
          SlotBuffer to(memory, 64 << 20, 1);
          from.fill({kSeed});
          const auto stream = device.new_stream();
          const auto event = device.new_event();
          device.copy_async(to.slot(0), from.slot(0), 64 << 20, *stream);
          event->record(*stream);
          while (!event->reached()) {
          }
          if (!expect(!to.find_mismatch({kSeed}), "asynchronous copy", device)) return false;
          SlotBuffer last(memory, 64 << 20, 1);
          const auto behind = device.new_background_stream();
          to.poison(kSeed);
          device.copy_async(to.slot(0), from.slot(0), 64 << 20, *stream);
          behind->wait_for(*stream);
          device.copy_async(last.slot(0), to.slot(0), 64 << 20, *behind);
          behind->synchronize();
          return expect(!last.find_mismatch({kSeed}), "copy behind another stream's", device);
        }) >= 0);
}

TEST_CASE("a real device: a resident kernel moves messages, leaves and comes back") {
  CHECK(on_every_device([](const std::string&, Device& device) {
          if (device.registration() == nullptr || !why_no_kernels(device).empty()) return true;
          constexpr std::size_t kSlots = 8;
          auto* const queue =
              static_cast<ResidentQueue*>(std::aligned_alloc(4096, sizeof(ResidentQueue)));
          std::memset(static_cast<void*>(queue), 0, sizeof(*queue));
          bool good = true;
          {
            const auto registered =
                device.registration()->register_memory(queue, sizeof(ResidentQueue));
            const auto program = device.kernels()->motion();
            for (const std::size_t bytes : {8u, 1000u, 20000u, 1000003u}) {
              std::memset(static_cast<void*>(queue), 0, sizeof(*queue));
              SlotBuffer out(device.memory(BufferKind::kDevice), bytes, kSlots);
              SlotBuffer in(device.memory(BufferKind::kDevice), bytes, kSlots);
              out.fill({kSeed});
              in.poison(kSeed);
              const auto shape =
                  ResidentShape::of(device.kernels()->multiprocessors(), out.layout().stride);
              ResidentSender sender(*queue, shape, ResidentSender::Inside::kNo);
              ResidentReceiver receiver(*queue, shape, false);
              const ResidentKernel::Direction direction{.queue = queue,
                                                        .on_device = registered->on_device(),
                                                        .from = out.slot(0),
                                                        .to = in.slot(0)};
              ResidentKernel kernel(device, *program, shape, direction, nullptr, 50'000'000);
              // Alone, after it has left, and all at once.
              for (const std::size_t each : {std::size_t{1}, std::size_t{1}, kSlots}) {
                for (std::size_t i = 0; i < each; ++i)
                  while (!sender.ring(i, bytes, nullptr)) kernel.keep();
                for (std::size_t i = 0; i < each; ++i)
                  while (!receiver.receive(bytes, nullptr)) kernel.keep();
                usleep(100'000);
                good &= expect(queue->left.load() != 0, "it left", device);
              }
              good &= expect(sender.all_there() && !in.find_mismatch({kSeed}), "moved", device);
            }
          }
          std::free(queue);
          return good;
        }) >= 0);
}

TEST_CASE(
    "a real device: a persistent copy kernel carries pieces, also those that begin anywhere") {
  CHECK(
      on_every_device([](const std::string& backend, Device& device) {
        if (backend != "cuda" || !why_no_kernels(device).empty()) return true;
        constexpr std::size_t kRoom = PersistentCopyKernel::kMost + 64;
        SlotBuffer memory(device.memory(BufferKind::kDevice), kRoom, 2);
        PersistentCopyKernel copy_kernel(device, std::chrono::milliseconds(50));
        std::vector<char> pattern(kRoom), got(kRoom), zero(kRoom);
        for (std::size_t i = 0; i < kRoom; ++i) pattern[i] = static_cast<char>(i * 131 + i / 251);
        // No kernel is there at first, and at times.
        const auto carried = [&](const auto& piece) {
          const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
          bool done = false;
          while (!done && std::chrono::steady_clock::now() < end) done = piece();
          return done;
        };
        bool good = true;
        for (const std::size_t offset : {0u, 1u, 4u, 8u})
          for (const std::size_t bytes : {1u, 4u, 8u, 57u, 256u, 257u, 4096u, 5001u, 16384u}) {
            char* const first = memory.slot(0) + offset;
            char* const second = memory.slot(1) + offset;
            for (const std::size_t slot : {0u, 1u})
              device.copy(memory.slot(slot), zero.data(), kRoom);
            std::vector<char> wanted(zero);
            std::memcpy(wanted.data() + offset, pattern.data(), bytes);
            good &= expect(
                carried([&] { return copy_kernel.copy_to_device(first, pattern.data(), bytes); }) &&
                    carried([&] { return copy_kernel.copy_to_host(got.data(), first, bytes); }) &&
                    carried([&] { return copy_kernel.copy_between_devices(second, first, bytes); }),
                "it carried", device);
            good &= expect(std::memcmp(got.data(), pattern.data(), bytes) == 0, "down", device);
            for (const std::size_t slot : {0u, 1u}) {
              device.copy(got.data(), memory.slot(slot), kRoom);
              good &= expect(got == wanted, slot == 0 ? "up" : "across", device);
            }
          }
        return good;
      }) >= 0);
}

TEST_CASE("a real device: memory of another process") {
  CHECK(on_every_device([](const std::string& backend, Device& device) {
          if (device.ipc() == nullptr) return true;
          SlotBuffer mine(device.memory(BufferKind::kDevice), kOpenedBytes, 1);
          mine.poison(kSeed);
          mine.fill({kSeed});
          const IpcHandle handle = device.ipc()->export_memory(mine.slot(0));
          // A second process from the start: the driver works in it only if it was never loaded.
          char file[] = "/tmp/nearpeak-ipc-XXXXXX";
          const int out = mkstemp(file);
          const bool told = write(out, &handle, sizeof(handle)) == sizeof(handle);
          close(out);
          const pid_t other = fork();
          if (other == 0) {
            setenv("NEARPEAK_TEST_IPC", file, 1);
            setenv("NEARPEAK_TEST_BACKEND", backend.c_str(), 1);
            setenv("NEARPEAK_TEST_UUID", device.info().uuid.c_str(), 1);
            execl("/proc/self/exe", "nearpeak-tests", "-tc=opens memory of another process",
                  nullptr);
            _exit(127);
          }
          int status = 0;
          waitpid(other, &status, 0);
          unlink(file);
          return expect(told && WIFEXITED(status) && WEXITSTATUS(status) == 0, "opened", device);
        }) >= 0);
}

// The other end of the test above, which starts it.
TEST_CASE("opens memory of another process") {
  const char* file = std::getenv("NEARPEAK_TEST_IPC");
  if (file == nullptr) return;
  IpcHandle handle;
  FILE* in = std::fopen(file, "rb");
  REQUIRE(in != nullptr);
  REQUIRE(std::fread(&handle, sizeof(handle), 1, in) == 1);
  std::fclose(in);
  const auto accelerator = load_backend(std::getenv("NEARPEAK_TEST_BACKEND"));
  Device& device = accelerator->device(accelerator->find_device(std::getenv("NEARPEAK_TEST_UUID")));
  const auto opened = device.ipc()->open(handle);
  const SlotLayout layout{.bytes = kOpenedBytes, .stride = kOpenedBytes, .count = 1};
  CHECK_FALSE(device.memory(BufferKind::kDevice)
                  .find_mismatch(opened->data(), layout, {kSeed}, Part::kAll));
}

TEST_CASE("a real device: every allocator gives memory that is filled and verified") {
  CHECK(on_every_device([](const std::string& name, Device& device) {
          for (const AllocatorInfo& info : find_backend(name).allocators) {
            Memory& memory = memory_from(info.name, info.kind, &device);
            for (const std::size_t bytes : kSizes) {
              SlotBuffer out(memory, bytes, 1, 1);
              SlotBuffer in(memory, bytes, 1, 1);
              out.fill({kSeed});
              in.poison(kSeed);
              device.copy(in.slot(0), out.slot(0), bytes);
              if (!expect(!in.find_mismatch({kSeed}), info.name.c_str(), device)) return false;
            }
          }
          return true;
        }) >= 0);
}
