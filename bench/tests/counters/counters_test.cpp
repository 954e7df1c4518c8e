// SPDX-License-Identifier: Apache-2.0
#include "counters/counters.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;
namespace fs = std::filesystem;

namespace {

// A folder that stands for / with /proc and /sys.
class Root {
 public:
  Root() {
    std::string pattern = (fs::temp_directory_path() / "nearpeak-counters-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Root() { fs::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary | std::ios::trunc) << text;
  }
  // What tells machines and network namespaces apart, with an interface and an adapter.
  void make_host(const std::string& boot, const std::string& network) const {
    write("proc/sys/kernel/random/boot_id", boot + "\n");
    write("proc/self/net/dev", "eth0: 1 0 0 0 0 0 0 0 1 0\n");
    write("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1\n");
    write("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "1\n");
    fs::create_directories(path_ + "/proc/self/ns");
    fs::create_symlink(network, path_ + "/proc/self/ns/net");
  }
  CounterScope host() const { return {.adapters = true, .interfaces = true, .root = path_}; }
  CounterScope gpu(const std::string& pci) const {
    return {.gpu = "GPU-1", .pci = pci, .root = path_};
  }
  CounterScope nvidia(const std::string& uuid, const std::string& pci) const {
    return {.gpu = uuid, .pci = pci, .root = path_};
  }

 private:
  std::string path_;
};

// How often a file has each line.
std::map<std::string, int> lines_of(const std::string& path) {
  std::map<std::string, int> counts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) ++counts[line];
  return counts;
}

// As Linux writes it (proc_pid_net(5)).
std::string net_dev(std::uint64_t lo, std::uint64_t sent, std::uint64_t received) {
  const std::string rest = "       7    0    0    0     0          0         0 ";
  return "Inter-|   Receive                                                |  Transmit\n"
         " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
         "    lo: " +
         std::to_string(lo) + rest + std::to_string(lo) + "       7    0    0    0\n" +
         "eth0.5:" + std::to_string(received) + rest + std::to_string(sent) +
         "       7    0    0    0\n";
}

CounterSource& only(OpenedSources& opened) {
  REQUIRE(opened.sources.size() == 1);
  return *opened.sources.front();
}

// The first counters of the tables gpu_metrics that have XGMI's.
std::string gpu_metrics(int version, std::size_t offset, std::uint64_t read,
                        std::uint64_t written) {
  std::string table(offset + 256, '\0');
  table[2] = 1;
  table[3] = static_cast<char>(version);
  for (int link = 0; link < 2; ++link) {
    const std::uint64_t of_link[] = {read + static_cast<std::uint64_t>(link),
                                     written + static_cast<std::uint64_t>(link)};
    std::memcpy(table.data() + offset + 8 * link, of_link, 8);
    std::memcpy(table.data() + offset + 64 + 8 * link, of_link + 1, 8);
  }
  return table;
}

// The environment for the fake NVML, which this process loads once.
class FakeNvml {
 public:
  explicit FakeNvml(const char* settings) {
    setenv("NEARPEAK_NVML_LIBRARY", FAKE_NVML, 1);
    setenv("NEARPEAK_FAKE_NVML", settings, 1);
  }
  ~FakeNvml() {
    unsetenv("NEARPEAK_NVML_LIBRARY");
    unsetenv("NEARPEAK_FAKE_NVML");
  }
};

const std::string kFirst = "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0";
const std::string kSecond = "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1";

std::size_t index_of(const Counters& counters, const std::string& kind) {
  for (std::size_t i = 0; i < counters.links().size(); ++i)
    if (counters.links()[i].link.kind == kind) return i;
  FAIL("there is no link of " << kind);
  return 0;
}

// "infiniband network network": the links that two ranks with these scopes read.
std::string read_by(const CounterScope& first, const CounterScope& second) {
  const RecordFile file;
  CHECK(in_group(2, [&](SharedGroup& group) {
          const Counters counters(group, group.leads() ? first : second);
          if (!group.leads()) return kGood;
          std::vector<std::string> kinds;
          for (const RankLink& each : counters.links()) kinds.push_back(each.link.kind);
          std::sort(kinds.begin(), kinds.end());
          std::ofstream out(file.path());
          for (const std::string& kind : kinds) out << kind << ' ';
          return kGood;
        }) == kGood);
  std::ifstream in(file.path());
  std::string line;
  std::getline(in, line);
  return line;
}

const CountedLinks::OnLink* on(const CountedLinks& counted, std::size_t link) {
  for (const auto& each : counted.on)
    if (each.link == link) return &each;
  return nullptr;
}

}  // namespace

TEST_CASE("interfaces are counted by name, in both directions") {
  const Root root;
  root.write("proc/self/net/dev", net_dev(5, 70, 900));
  auto opened = open_sources(root.host());
  CounterSource& source = only(opened);
  REQUIRE(source.links().size() == 2);
  CHECK(source.links()[0].kind == "network");
  CHECK(source.links()[0].name == "eth0.5");
  CHECK(source.links()[1].name == "lo");
  const auto bytes = source.read();
  CHECK(bytes[0]->sent == 70);
  CHECK(bytes[0]->received == 900);
  CHECK(bytes[1]->sent == 5);
  CHECK(opened.unread.empty());
  root.write("proc/self/net/dev", "");
  CHECK_FALSE(source.read()[0]);
}

TEST_CASE("a host without a list of interfaces says so, and a rank that reads no host does not") {
  const Root root;
  const auto opened = open_sources(root.host());
  CHECK(opened.sources.empty());
  REQUIRE(opened.unread.size() == 1);
  CHECK(opened.unread[0].kind == "network");
  CHECK(open_sources({.root = "/nowhere"}).unread.empty());
}

// The tree is that of prometheus/procfs, testdata/fixtures.ttar: hfi1_0, which has no 64-bit
// counters, mlx4_0 with two ports, and irdma0, which has no counters.
TEST_CASE("ports of adapters are counted in units of four octets") {
  const Root root;
  const std::string adapters = "sys/class/infiniband/";
  root.write("proc/self/net/dev", net_dev(0, 0, 0));
  root.write(adapters + "hfi1_0/ports/1/counters/port_xmit_data", "273558326543\n");
  root.write(adapters + "hfi1_0/ports/1/counters/port_rcv_data", "345091702026\n");
  root.write(adapters + "mlx4_0/ports/1/counters/port_xmit_data", "26509113295\n");
  root.write(adapters + "mlx4_0/ports/1/counters/port_rcv_data", "2221223609\n");
  root.write(adapters + "mlx4_0/ports/2/counters/port_xmit_data", "0\n");
  root.write(adapters + "mlx4_0/ports/2/counters/port_rcv_data", "N/A (no PMA)\n");
  root.write(adapters + "irdma0/ports/1/state", "4: ACTIVE\n");
  auto opened = open_sources(root.host());
  REQUIRE(opened.sources.size() == 2);
  CounterSource& ports = *opened.sources[0];
  REQUIRE(ports.links().size() == 2);
  CHECK(ports.links()[0].kind == "infiniband");
  CHECK(ports.links()[0].name == "hfi1_0:1");
  CHECK(ports.links()[1].name == "mlx4_0:1");
  CHECK(ports.read()[1]->sent == 4 * 26509113295ULL);
  CHECK(ports.read()[1]->received == 4 * 2221223609ULL);
  REQUIRE(opened.unread.size() == 1);
  CHECK(opened.unread[0].why.find("irdma0:1, mlx4_0:2") != std::string::npos);
}

TEST_CASE("Slingshot's adapters say when they have counted") {
  const Root root;
  root.write("proc/self/net/dev", net_dev(0, 0, 0));
  const std::string telemetry = "sys/class/cxi/cxi0/device/telemetry/";
  root.write(telemetry + "hni_sts_tx_ok_octets", "123456@1700000000.000000001\n");
  root.write(telemetry + "hni_sts_rx_ok_octets", "7@1700000000.000000001\n");
  auto opened = open_sources(root.host());
  REQUIRE(opened.sources.size() == 2);
  CounterSource& source = *opened.sources[1];
  CHECK(source.links()[0].kind == "slingshot");
  CHECK(source.links()[0].name == "cxi0");
  CHECK(source.read()[0]->sent == 123456);
  CHECK(source.read()[0]->received == 7);
}

TEST_CASE("one rank of a machine reads its adapters, one of a network namespace its interfaces") {
  const std::string usual = "net:[4026531840]";  // the first namespace, on every machine
  const Root one;
  const Root container;
  const Root same;
  const Root other;
  one.make_host("boot-1", usual);
  same.make_host("boot-1", usual);
  container.make_host("boot-1", "net:[4026532001]");
  other.make_host("boot-2", usual);
  CHECK(read_by(one.host(), same.host()) == "infiniband network ");
  CHECK(read_by(one.host(), container.host()) == "infiniband network network ");
  CHECK(read_by(one.host(), other.host()) == "infiniband infiniband network network ");
}

TEST_CASE("partitions of a package have one table of counters, which is read once") {
  const auto partition = [](const Root& root, const std::string& uuid, const std::string& pci) {
    root.write("proc/sys/kernel/random/boot_id", "boot-1\n");
    root.write("sys/bus/pci/devices/" + pci + "/vendor", "0x1002\n");
    root.write("sys/bus/pci/devices/" + pci + "/gpu_metrics", gpu_metrics(6, 128, 10, 1000));
    CounterScope scope = root.gpu(pci);
    scope.gpu = uuid;
    return scope;
  };
  const Root first;
  const Root second;
  const CounterScope one = partition(first, "GPU-1", "0000:17:00.0");
  CHECK(read_by(one, partition(second, "GPU-2", "0000:17:00.0")) == "xgmi ");
  CHECK(read_by(one, partition(second, "GPU-2", "0000:17:00.1")) == "xgmi ");
  CHECK(read_by(one, partition(second, "GPU-2", "0000:85:00.0")) == "xgmi xgmi ");
}

TEST_CASE("XGMI is counted where the table of this version has it") {
  const Root root;
  const std::string folder = "sys/bus/pci/devices/0000:17:00.0/";
  root.write(folder + "vendor", "0x1002\n");
  for (const auto& [version, offset] : {std::pair{4, std::size_t{104}},
                                        {5, std::size_t{176}},
                                        {6, std::size_t{128}},
                                        {7, std::size_t{136}},
                                        {8, std::size_t{136}}}) {
    CAPTURE(version);
    root.write(folder + "gpu_metrics", gpu_metrics(version, offset, 10, 1000));
    auto opened = open_sources(root.gpu("00000000:17:00.0"));
    CounterSource& source = only(opened);
    CHECK(source.links()[0].kind == "xgmi");
    CHECK(source.read()[0]->sent == 1024 * (1000 + 1001));
    CHECK(source.read()[0]->received == 1024 * (10 + 11));
  }
  root.write(folder + "gpu_metrics", gpu_metrics(3, 104, 1, 1));
  const auto opened = open_sources(root.gpu("0000:17:00.0"));
  CHECK(opened.sources.empty());
  REQUIRE(opened.unread.size() == 1);
  CHECK(opened.unread[0].kind == "xgmi");
}

TEST_CASE("NVLink and PCIe of a GPU are counted from one reading to the next") {
  const FakeNvml fake("nvlink=100,pcie=5000,generation=1,width=1");
  Alone alone;
  Counters counters(alone, {.gpu = kFirst});
  counters.read();
  const auto seconds = counters.wraps_s();
  REQUIRE(seconds);
  CHECK(*seconds == doctest::Approx(4294967296.0 / 2.5e9 * 8));  // 2.5 Gbit/s
  const CountedLinks counted = counters.read();
  const auto* const nvlink = on(counted, index_of(counters, "nvlink"));
  REQUIRE(nvlink != nullptr);
  CHECK(nvlink->bytes.sent % (100 * 1024) == 0);
  CHECK(nvlink->bytes.sent > 0);
  CHECK(nvlink->bytes.received == 0);
  CHECK_FALSE(nvlink->at_least);
  const auto* const pcie = on(counted, index_of(counters, "pcie"));
  REQUIRE(pcie != nullptr);
  CHECK(pcie->bytes.sent % 5000 == 0);  // across its 32 bits
  CHECK_FALSE(pcie->at_least);
  CHECK(pcie->bytes.sent < 100 * 5000);
}

TEST_CASE("the first rank of a machine reads the GPUs of all, each in one call") {
  const FakeNvml fake("nvlink=100,pcie=1,generation=1,width=1");
  const Root root;
  root.write("proc/sys/kernel/random/boot_id", "boot-1\n");
  const RecordFile calls;
  setenv("NEARPEAK_FAKE_NVML_CALLS", calls.path().c_str(), 1);
  const CounterScope first = root.nvidia(kFirst, "0000:17:00.0");
  const CounterScope second = root.nvidia(kSecond, "0000:85:00.0");
  CHECK(in_group(2, [&](SharedGroup& group) {
          Counters counters(group, group.leads() ? first : second);
          counters.read();
          const CountedLinks counted = counters.read();
          if (!group.leads()) return counters.links().size() == 4 ? kGood : kWrongData;
          for (const RankLink& each : counters.links()) CHECK(each.rank == 0);
          CHECK(on(counted, 0)->bytes.sent == 100 * 1024);
          CHECK(on(counted, 2)->bytes.received == 100 * 1024);
          return kGood;
        }) == kGood);
  unsetenv("NEARPEAK_FAKE_NVML_CALLS");
  auto made = lines_of(calls.path());
  made.erase("nvmlInit_v2");  // another test may have opened NVML in this process
  CHECK(made == std::map<std::string, int>{{"nvmlDeviceGetHandleByUUID", 2},
                                           {"nvmlDeviceGetFieldValues 4", 6}});
}

TEST_CASE("a GPU that the first rank of its machine does not see is read by a rank that has it") {
  const FakeNvml fake("hidden=0");
  const Root root;
  root.write("proc/sys/kernel/random/boot_id", "boot-1\n");
  const CounterScope first = root.nvidia(kFirst, "0000:17:00.0");
  const CounterScope second = root.nvidia(kSecond, "0000:85:00.0");
  CHECK(in_group(2, [&](SharedGroup& group) {
          if (!group.leads()) setenv("NEARPEAK_FAKE_NVML", "", 1);
          const Counters counters(group, group.leads() ? second : first);
          std::vector<std::string> read;
          for (const RankLink& each : counters.links())
            read.push_back(std::to_string(each.rank) + each.link.kind);
          CHECK(read == std::vector<std::string>{"0nvlink", "0pcie", "1nvlink", "1pcie"});
          CHECK(counters.unread().empty());
          return kGood;
        }) == kGood);
}

TEST_CASE("a glance at a GPU asks for the counters that wrap alone") {
  const FakeNvml fake("pcie=1");
  const RecordFile calls;
  Alone alone;
  Counters counters(alone, {.gpu = kSecond});
  counters.read();
  std::this_thread::sleep_for(std::chrono::duration<double>(0.7 * *counters.wraps_s()));
  setenv("NEARPEAK_FAKE_NVML_CALLS", calls.path().c_str(), 1);
  counters.glance();
  unsetenv("NEARPEAK_FAKE_NVML_CALLS");
  CHECK(lines_of(calls.path()) == std::map<std::string, int>{{"nvmlDeviceGetFieldValues 2", 1}});
}

TEST_CASE("a counter that may have wrapped unseen says so") {
  const FakeNvml fake("pcie=1");
  Alone alone;
  Counters counters(alone, {.gpu = kSecond});
  const double seconds = *counters.wraps_s();
  const auto sleep = [&](double part) {
    std::this_thread::sleep_for(std::chrono::duration<double>(part * seconds));
  };
  const std::size_t pcie = index_of(counters, "pcie");
  counters.read();
  sleep(1.5);
  const CountedLinks late = counters.read();
  REQUIRE(on(late, pcie) != nullptr);
  CHECK(on(late, pcie)->at_least);
  CHECK(on(late, pcie)->bytes.received == 1);
}

TEST_CASE("a glance reads a counter that wraps once it is time, and loses nothing") {
  const FakeNvml fake("pcie=1");
  Alone alone;
  Counters counters(alone, {.gpu = kSecond});
  counters.read();
  std::this_thread::sleep_for(std::chrono::duration<double>(0.7 * *counters.wraps_s()));
  counters.glance();
  const CountedLinks counted = counters.read();
  const auto* const pcie = on(counted, index_of(counters, "pcie"));
  REQUIRE(pcie != nullptr);
  CHECK(pcie->bytes.received == 2);
}

TEST_CASE("a counter whose rate nobody knows is never read at a glance, and counts at least") {
  const FakeNvml fake("pcie=1,generation=0");
  Alone alone;
  Counters counters(alone, {.gpu = kSecond});
  CHECK_FALSE(counters.wraps_s());
  counters.read();
  counters.glance();
  const CountedLinks counted = counters.read();
  const auto* const pcie = on(counted, index_of(counters, "pcie"));
  REQUIRE(pcie != nullptr);
  CHECK(pcie->at_least);
  CHECK(pcie->bytes.received == 1);
}

TEST_CASE("a GPU that is not there, and one that does not count, say why") {
  const FakeNvml fake("none=138");
  auto missing = open_sources({.gpu = "GPU-of-nobody"});
  REQUIRE(missing.unread.size() == 2);
  CHECK(missing.unread[0].why.find("does not have this GPU") != std::string::npos);
  const auto instance = open_sources({.gpu = "MIG-01112131-4151-6171-8191-a1b1c1d1e1f1"});
  REQUIRE(instance.unread.size() == 2);
  CHECK(instance.unread[1].why.find("not of a MIG instance") != std::string::npos);
  const auto without = open_sources({.gpu = kFirst});
  REQUIRE(without.unread.size() == 1);
  CHECK(without.unread[0].kind == "nvlink");
  CHECK(without.unread[0].why.find("error 3") != std::string::npos);
  REQUIRE(without.sources.size() == 1);
  CHECK(without.sources[0]->links()[0].kind == "pcie");
}
