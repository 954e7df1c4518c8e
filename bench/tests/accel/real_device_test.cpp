// SPDX-License-Identifier: Apache-2.0
// Every backend on the devices of this machine, with the vendor's own driver; where there are none
// it says so. What no fake can do is here: kernels as the vendor's compiler and GPUs have them.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "accel/accelerator.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

constexpr std::array<std::size_t, 8> kSizes{1, 7, 8, 9, 4095, 65536, 1000003, 64 << 20};
constexpr std::uint64_t kSeed = 0x5EED;

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
          if (!check(backend.name, *accelerator, accelerator->device(info.index))) _exit(255);
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
  CHECK(on_every_device([](const std::string&, Accelerator&, Device& device) {
          if (!expect(device.has_kernels(), device.why_no_kernels().c_str(), device)) return false;
          for (const BufferKind kind :
               {BufferKind::kDevice, BufferKind::kManaged, BufferKind::kPinned}) {
            Memory& memory = device.memory(kind);
            try {
              memory.release(memory.allocate(1));
            } catch (const AcceleratorError& error) {
              // Only shared virtual memory is optional.
              std::fprintf(stderr, "%s\n", error.what());
              if (kind == BufferKind::kManaged) continue;
              return false;
            }
            for (const std::size_t bytes : kSizes) {
              auto* data = static_cast<char*>(memory.allocate(bytes));
              memory.fill_pattern(data, bytes, kSeed);
              bool good = expect(!memory.find_mismatch(data, bytes, kSeed), "filled", device);
              // What the device wrote is what the host would have written.
              std::vector<char> host(bytes);
              device.copy(host.data(), data, bytes);
              good &= expect(!find_mismatch(host.data(), bytes, kSeed), "same on the host", device);
              const std::size_t place = bytes / 2;
              host[place] = static_cast<char>(host[place] ^ 0x40);
              device.copy(data, host.data(), bytes);
              const auto wrong = memory.find_mismatch(data, bytes, kSeed);
              good &= expect(wrong && wrong->byte == place, "the wrong byte", device);
              memory.fill_inverse(data, bytes, kSeed);
              const auto first = memory.find_mismatch(data, bytes, kSeed);
              good &= expect(first && first->byte == 0, "the inverse", device);
              memory.release(data);
              if (!good) return false;
            }
          }
          return true;
        }) >= 0);
}

TEST_CASE("a real device: streams, events, peers and pointer kinds") {
  CHECK(on_every_device([](const std::string&, Accelerator& accelerator, Device& device) {
          constexpr std::size_t kBytes = 64 << 20;
          Memory& memory = device.memory(BufferKind::kDevice);
          void* from = memory.allocate(kBytes);
          void* to = memory.allocate(kBytes);
          memory.fill_pattern(from, kBytes, kSeed);
          const auto stream = device.new_stream();
          const auto start = device.new_event();
          const auto stop = device.new_event();
          start->record(*stream);
          device.copy_async(to, from, kBytes, *stream);
          stop->record(*stream);
          stop->synchronize();
          bool good =
              expect(stop->reached() && stop->microseconds_since(*start) > 0, "events", device);
          good &= expect(!memory.find_mismatch(to, kBytes, kSeed), "asynchronous copy", device);
          good &= expect(device.pointer_kind(to) == PointerKind::kDevice, "pointer kind", device);
          char host = 0;
          good &= expect(device.pointer_kind(&host) == PointerKind::kHost, "host pointer", device);
          for (const DeviceInfo& other : accelerator.devices()) {
            if (other.index == device.info().index || !other.unusable.empty()) continue;
            Device& peer = accelerator.device(other.index);
            if (!device.can_access(peer)) continue;
            device.enable_access(peer);
            Memory& peer_memory = peer.memory(BufferKind::kDevice);
            void* far = peer_memory.allocate(kBytes);
            peer_memory.fill_inverse(far, kBytes, kSeed);
            device.copy(far, from, kBytes);
            good &= expect(!peer_memory.find_mismatch(far, kBytes, kSeed), "peer copy", device);
            peer_memory.release(far);
          }
          memory.release(to);
          memory.release(from);
          return good;
        }) >= 0);
}

TEST_CASE("a real device: memory of another process") {
  CHECK(on_every_device([](const std::string& backend, Accelerator&, Device& device) {
          constexpr std::size_t kBytes = 1000003;
          Memory& memory = device.memory(BufferKind::kDevice);
          void* mine = memory.allocate(kBytes);
          memory.fill_pattern(mine, kBytes, kSeed);
          IpcHandle handle{};
          try {
            handle = device.ipc_export(mine);
          } catch (const AcceleratorError& error) {
            memory.release(mine);
            return expect(std::string(error.what()).rfind("OpenCL has no ", 0) == 0, error.what(),
                          device);
          }
          // A second process from the start: the driver works in it only if it was never loaded.
          char file[] = "/tmp/nearpeak-ipc-XXXXXX";
          const int out = mkstemp(file);
          const bool told =
              write(out, handle.data(), handle.size()) == static_cast<ssize_t>(handle.size());
          close(out);
          const std::string command = std::string("/proc/self/exe");
          const pid_t other = fork();
          if (other == 0) {
            setenv("NEARPEAK_TEST_IPC", file, 1);
            setenv("NEARPEAK_TEST_BACKEND", backend.c_str(), 1);
            setenv("NEARPEAK_TEST_UUID", device.info().uuid.c_str(), 1);
            execl(command.c_str(), "nearpeak-tests", "-tc=opens memory of another process",
                  nullptr);
            _exit(127);
          }
          int status = 0;
          waitpid(other, &status, 0);
          unlink(file);
          memory.release(mine);
          return expect(told && WIFEXITED(status) && WEXITSTATUS(status) == 0, "opened", device);
        }) >= 0);
}

// The other end of the test above, which starts it.
TEST_CASE("opens memory of another process") {
  const char* file = std::getenv("NEARPEAK_TEST_IPC");
  if (file == nullptr) return;
  IpcHandle handle{};
  FILE* in = std::fopen(file, "rb");
  REQUIRE(in != nullptr);
  REQUIRE(std::fread(handle.data(), 1, handle.size(), in) == handle.size());
  std::fclose(in);
  const auto accelerator = load_backend(std::getenv("NEARPEAK_TEST_BACKEND"));
  Device& device = accelerator->device(accelerator->find_device(std::getenv("NEARPEAK_TEST_UUID")));
  const auto opened = device.ipc_open(handle);
  CHECK_FALSE(device.memory(BufferKind::kDevice).find_mismatch(opened->data(), 1000003, kSeed));
}
