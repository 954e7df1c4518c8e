// SPDX-License-Identifier: Apache-2.0
// With fake_perftest.cpp in the place of perftest's programs: nobody here has an adapter.
#include "programs/native/verbs.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "group/socket.hpp"
#include "programs/native/perftest.hpp"
#include "tests/programs/native/quiet.hpp"
#include "tests/records.hpp"

using namespace nearpeak;

namespace {

// A folder that is all of PATH, with these programs.
class Programs {
 public:
  explicit Programs(const std::vector<std::string>& names = {"ib_write_lat", "ib_send_lat",
                                                             "ib_write_bw", "ib_read_bw"}) {
    char name[] = "/tmp/nearpeak-verbs-XXXXXX";
    folder_ = mkdtemp(name);
    for (const std::string& program : names)
      std::filesystem::create_symlink(FAKE_PERFTEST, folder_ + "/" + program);
  }
  ~Programs() { std::filesystem::remove_all(folder_); }
  const std::string& folder() const { return folder_; }
  std::string log() const { return folder_ + "/log"; }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::ifstream file(log());
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }
  bool ran(const std::string& beginning) const {
    const auto all = lines();
    return std::any_of(all.begin(), all.end(), [&](const std::string& line) {
      return line.compare(0, beginning.size(), beginning) == 0;
    });
  }

 private:
  std::string folder_;
};

// The first of two free ports below those that the kernel gives to outgoing connections, as the one
// to the first port would be.
int two_ports() {
  for (int port = 20000 + getpid() % 5000 * 2;; port += 2) {
    try {
      const Socket first = listen_on("127.0.0.1", port);
      const Socket second = listen_on("127.0.0.1", port + 1);
      return port;
    } catch (const std::exception&) {
    }
  }
}

VerbsOptions short_verbs(const std::string& sizes, const RecordFile& file) {
  VerbsOptions options;
  options.common = short_run(sizes, file.path());
  options.common.window = 8;
  options.common.limit_s = 0.2;
  options.start_s = 5;
  options.peer = "127.0.0.1";
  options.port = two_ports();
  return options;
}

// Both ranks' exit status; `fake` is how the programs of each fail.
std::pair<int, int> run(const VerbsOptions& options, const Programs& programs,
                        const std::pair<std::string, std::string>& fakes = {},
                        const std::vector<VerbsMethod>& methods = verbs_methods()) {
  const auto launch = [&](const char* rank, const std::string& fake) {
    return start_process([&] {
      setenv("PMI_RANK", rank, 1);
      setenv("PATH", programs.folder().c_str(), 1);
      setenv("FAKE_PERFTEST", fake.c_str(), 1);
      setenv("FAKE_PERFTEST_LOG", programs.log().c_str(), 1);
      try {
        return run_verbs(options, methods);
      } catch (const BadInput&) {
        return static_cast<int>(kBadInput);
      }
    });
  };
  const pid_t first = launch("0", fakes.first);
  const pid_t second = launch("1", fakes.second);
  const int status = await_process(first);
  return {status, await_process(second)};
}

const std::pair<int, int> kBothGood{kGood, kGood};

// Metric and method -> the record.
std::map<std::string, nlohmann::json> by_method(const std::vector<nlohmann::json>& records) {
  std::map<std::string, nlohmann::json> out;
  for (const auto& record : records)
    out[record["metric"].get<std::string>() + " " + record["method"].get<std::string>()] = record;
  return out;
}

std::set<std::string> messages_of(const RecordFile& file) {
  std::set<std::string> out;
  for (const auto& record : file.records("problem")) {
    CHECK(record["status"] == "skipped");
    out.insert(record["message"]);
  }
  return out;
}

std::vector<VerbsMethod> only(const std::string& program) {
  auto methods = verbs_methods();
  std::erase_if(methods, [&](const VerbsMethod& method) { return method.program != program; });
  return methods;
}

}  // namespace

TEST_CASE("verbs: a latency is the typical one of the row for its size") {
  const std::string table =
      " local address: LID 0x01 QPN 0x0089\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
      "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
      "Conflicting CPU frequency values detected: 2200.0 != 1040.3. CPU Frequency is not max.\n"
      " 2       1000          0.79           8.92         0.81     \t       0.82        \t0.07   "
      "\t\t0.89    \t\t2.92   \n"
      "deallocating GPU buffer 00007fdfc7e00000\n";
  CHECK(perftest_latency_us(table, 2) == 0.81);
  CHECK_FALSE(perftest_latency_us(table, 4));
  CHECK_FALSE(perftest_gbs(table, 2));
  CHECK_FALSE(perftest_latency_us("", 2));
  CHECK_FALSE(perftest_latency_us(" 2 1000 0.79 8.92 0.81\n", 2));
  CHECK_FALSE(perftest_latency_us("#bytes t_typical[usec]\n 2 0.00\n", 2));
  CHECK_FALSE(perftest_latency_us("#bytes t_typical[usec]\n 2 -nan\n", 2));
  CHECK_FALSE(perftest_latency_us("#bytes t_typical[cycles]\n 2 100\n", 2));
  CHECK_FALSE(perftest_latency_us("#bytes #iterations t_typical[usec]\n 2 1000\n", 2));
}

TEST_CASE("verbs: a rate is the average, in the unit that its column names") {
  const auto table = [](const std::string& unit, const std::string& average) {
    return " #bytes     #iterations    BW peak[" + unit + "]    BW average[" + unit +
           "]   MsgRate[Mpps]\n 2097152      5000             0.00             " + average +
           "\t\t     0.005515\n";
  };
  const std::size_t bytes = 2097152;
  const double mib = 11030.45 * 1048576 / 1e9;
  CHECK(*perftest_gbs(table("MiB/sec", "11030.45"), bytes) == doctest::Approx(mib));
  CHECK(*perftest_gbs(table("MB/sec", "11030.45"), bytes) == doctest::Approx(mib));
  CHECK(*perftest_gbs(table("Gb/sec", "92.53"), bytes) == doctest::Approx(92.53 / 8));
  CHECK_FALSE(perftest_gbs(table("furlong", "92.53"), bytes));
  CHECK_FALSE(perftest_gbs(table("MiB/sec", "inf"), bytes));
  CHECK_FALSE(perftest_gbs(table("MiB/sec", "11030.45"), 2));
  CHECK(*perftest_gbs("#bytes BW_average[MB/sec]\n 2 1000.00\n", 2) == doctest::Approx(1.048576));
  // 2 B x 2,123,456 a second; the rate itself has lost most of its digits.
  const std::string small =
      "#bytes #iterations BW peak[MiB/sec] BW average[MiB/sec] MsgRate[Mpps]\n"
      " 2 5000 0.00 4.05 2.123456\n";
  CHECK(*perftest_gbs(small, 2) == doctest::Approx(0.004246912));
}

TEST_CASE("verbs: two ranks measure every metric with the programs' own numbers") {
  const RecordFile file;
  const Programs programs;
  VerbsOptions options = short_verbs("0,1000,2M", file);
  options.adapter = "mlx5_3:2";
  CHECK(run(options, programs) == kBothGood);
  CHECK(file.records("problem").empty());
  CHECK(file.records("environment").size() == 1);  // rank 0 alone writes
  std::map<std::size_t, std::vector<nlohmann::json>> by_size;
  for (const auto& record : file.records("samples")) {
    CHECK(record["benchmark"] == record["metric"]);
    CHECK(record["buffers"] == "H,H");
    CHECK(record["axes"] == nlohmann::json{{"reuse", "fixed"}, {"touch", "none"}});
    const std::uint64_t iterations = record["iterations"];
    CHECK(iterations == record["batch"].get<std::uint64_t>() * record["samples"].size());
    by_size[record["size_bytes"]].push_back(record);
  }
  // An empty message is a byte, and has no bandwidth.
  const auto empty = by_method(by_size[0]);
  CHECK(empty.size() == 2);
  CHECK(empty.at("latency write")["samples"][0] == doctest::Approx(1.0));
  const auto small = by_method(by_size[1000]);
  CHECK(small.size() == 10);
  const auto& best = small.at("latency write");
  CHECK(best["unit"] == "us");
  CHECK(best["samples"] == nlohmann::json{2.0, 2.0});
  CHECK(best["limited"] == nullptr);
  CHECK(small.at("latency send")["samples"] == nlohmann::json{3.0});  // a trial alone
  CHECK(small.at("latency send")["limited"].is_string());
  const double mib = 1048576 / 1e9;
  CHECK(small.at("bw write-q4")["samples"][1] == doctest::Approx(8320 * mib));
  CHECK(small.at("bw write-q2")["samples"][1] == doctest::Approx(8160 * mib));
  CHECK(small.at("bw read")["samples"][0] == doctest::Approx(5000 * mib));
  CHECK(small.at("bibw write-q4")["samples"][1] == doctest::Approx(12480 * mib));
  CHECK(small.at("bw write-q4")["window"] == 8);
  CHECK(by_method(by_size[2 << 20]).size() == 10);

  const std::string where = " -p " + std::to_string(options.port + 1) + " -d mlx5_3 -i 2";
  CHECK(programs.ran("ib_write_bw -F -s 1000 -n 1000" + where + " -t 8 -Q 2 -q 1 -N"));
  CHECK(programs.ran("ib_write_bw -F -s 1000 -n 250" + where + " -t 2 -Q 1 -q 4 -N"));
  for (const std::string& line : programs.lines()) {
    CHECK(line.find(where) != std::string::npos);
    CHECK(line.find("use_cuda") == std::string::npos);
  }
}

TEST_CASE("verbs: data goes from rank 0 to rank 1, whoever's program asks for it") {
  for (const std::string buffers : {"H,D", "D,H"}) {
    const RecordFile file;
    const Programs programs;
    VerbsOptions options = short_verbs("4096", file);
    options.metrics = {"bw"};
    options.buffers = buffers;
    options.devices =
        buffers == "H,D" ? std::vector<std::string>{"-", "3"} : std::vector<std::string>{"3", "-"};
    CHECK(run(options, programs) == kBothGood);
    CHECK(by_method(file.records("samples")).count("bw read") == 1);
    for (const std::string& line : programs.lines()) {
      if (line.find("--help") != std::string::npos) continue;
      const bool client = line.find(" 127.0.0.1") != std::string::npos;
      const bool source = client == (line.find("ib_write") == 0);
      const bool device = line.find(" --use_cuda=3 --use_cuda_dmabuf") != std::string::npos;
      CHECK(device == (source == (buffers == "D,H")));
    }
  }
}

TEST_CASE("verbs: a GPU that is named by its UUID is all that the program sees") {
  const RecordFile file;
  const Programs programs;
  VerbsOptions options = short_verbs("4096", file);
  options.metrics = {"bw"};
  options.buffers = "D,D";
  options.adapter = "mlx5_2:1";
  options.devices = {"GPU-5ec2", "GPU-5ec3"};
  CHECK(run(options, programs) == kBothGood);
  CHECK(by_method(file.records("samples")).count("bw write") == 1);
  for (const std::string& line : programs.lines()) {
    if (line.find("--help") != std::string::npos) continue;
    CHECK(line.find(" -d mlx5_2 -i 1 ") != std::string::npos);
    CHECK(line.find(" --use_cuda=0 --use_cuda_dmabuf") != std::string::npos);
    const bool client = line.find(" 127.0.0.1") != std::string::npos;
    const bool source = client == (line.find("ib_write") == 0);
    CHECK(line.find(source ? " # sees GPU-5ec2" : " # sees GPU-5ec3") != std::string::npos);
  }
}

TEST_CASE("verbs: GPU memory without dmabuf is tried after it has failed with it") {
  const RecordFile file;
  const Programs programs;
  VerbsOptions options = short_verbs("64,128", file);
  options.metrics = {"latency"};
  options.buffers = "D,D";
  options.devices = {"0", "1"};
  CHECK(run(options, programs, {"no dmabuf", "no dmabuf"}, only("ib_send_lat")) == kBothGood);
  CHECK(file.records("problem").empty());
  CHECK(file.records("samples").size() == 2);
  int tried = 0;
  for (const std::string& line : programs.lines())
    tried += line.find("_dmabuf") != std::string::npos ? 1 : 0;
  CHECK(tried == 1);  // by the server, once
  CHECK(programs.ran("ib_send_lat -F -s 64 -n 1000"));
}

TEST_CASE("verbs: a perftest without CUDA is skipped with that reason") {
  const RecordFile file;
  const Programs programs;
  VerbsOptions options = short_verbs("64", file);
  options.metrics = {"latency"};
  options.buffers = "H,D";
  options.devices = {"-", "0"};
  CHECK(run(options, programs, {"no cuda", "no cuda"}) == kBothGood);
  CHECK(file.records("samples").empty());
  const auto messages = messages_of(file);
  CHECK(messages.size() == 2);
  CHECK(messages.begin()->find("built without GPU memory") != std::string::npos);
}

TEST_CASE("verbs: a program that fails at one end is skipped at both, and the rest goes on") {
  const std::vector<std::string> metrics{"bw"};
  for (const bool first : {true, false}) {
    const RecordFile file;
    const Programs programs;
    VerbsOptions options = short_verbs("64,128,256", file);
    options.metrics = metrics;
    const std::string fake = "no ib_read_bw";
    CHECK(run(options, programs, {first ? fake : "", first ? "" : fake}) == kBothGood);
    CHECK(messages_of(file) ==
          std::set<std::string>{"ib_read_bw: Did not detect devices",
                                "ib_read_bw: Did not detect devices (given up)"});
    CHECK(file.records("problem").size() == 3);
    CHECK(file.records("samples").size() == 9);  // write, write-q2, write-q4
  }
}

TEST_CASE("verbs: what is wrong with a program is told in its words") {
  struct Case {
    const char* first;
    const char* second;
    const char* message;
  };
  for (const Case& failing : {
           Case{"no device", "no device", "ib_write_lat: Did not detect devices"},
           Case{"nonsense", "", "ib_write_lat: prints no result for messages of this size"},
           Case{"hang", "", "ib_write_lat: no end within 6 s"},
           Case{"", "deaf", "ib_write_lat: does not wait for the other end within 3 s"},
           Case{"crash", "", "ib_write_lat: ended by signal 6"},
           Case{"", "die", "ib_write_lat: Failed to allocate"},
       }) {
    CAPTURE(failing.message);
    const RecordFile file;
    const Programs programs;
    VerbsOptions options = short_verbs("64", file);
    if (std::string(failing.second) == "deaf") options.start_s = 2.9;  // which is waited out
    options.metrics = {"latency"};
    CHECK(run(options, programs, {failing.first, failing.second}, only("ib_write_lat")) ==
          kBothGood);
    CHECK(messages_of(file) == std::set<std::string>{failing.message});
  }
}

TEST_CASE("verbs: programs that are missing are skipped") {
  const RecordFile file;
  const Programs programs({"ib_write_lat"});
  VerbsOptions options = short_verbs("64", file);
  options.metrics = {"latency"};
  CHECK(run(options, programs) == kBothGood);
  CHECK(messages_of(file) == std::set<std::string>{"ib_send_lat: not on PATH: install perftest"});
  CHECK(file.records("samples").size() == 1);
}

TEST_CASE("verbs: a program does not outlive the process that has started it") {
  const Programs programs;
  const int port = port_of(listen_on("127.0.0.1", 0));
  CHECK(in_own_process([&] {
          auto* child = new ChildProgram(  // never destroyed: as when a signal ends a process
              {programs.folder() + "/ib_write_lat", "-p", std::to_string(port)});
          const bool listens = child->wait_listening(port, 5).empty();
          _exit(listens ? 7 : 1);
          return 0;
        }) == 7);
  bool free = false;
  for (int i = 0; i < 500 && !free; ++i) {
    try {
      listen_on("127.0.0.1", port);
      free = true;
    } catch (const BadInput&) {
      usleep(10'000);
    }
  }
  CHECK(free);
}

TEST_CASE("verbs: bad input is refused before anything is started") {
  const RecordFile file;
  const Programs programs;
  const auto refused = [&](const std::function<void(VerbsOptions&)>& poison) {
    VerbsOptions options = short_verbs("64", file);
    poison(options);
    return run(options, programs) == std::pair<int, int>{kBadInput, kBadInput};
  };
  CHECK(refused([](VerbsOptions& options) { options.buffers = "H,M"; }));
  CHECK(refused([](VerbsOptions& options) { options.buffers = "H"; }));
  CHECK(refused([](VerbsOptions& options) { options.buffers = "D,D"; }));
  CHECK(refused([](VerbsOptions& options) {
    options.buffers = "H,D";
    options.devices = {"-", "the first"};
  }));
  CHECK(refused([](VerbsOptions& options) { options.common.sizes = "x"; }));
  CHECK(programs.lines().empty());
}
