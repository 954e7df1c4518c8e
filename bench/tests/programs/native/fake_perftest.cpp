// SPDX-License-Identifier: Apache-2.0
// Stands for perftest's programs, by the name that it is started with: meets its other end as they
// do, moves nothing, and prints a table like theirs with numbers that follow from the options.
// FAKE_PERFTEST says how it fails; FAKE_PERFTEST_LOG names a file for the command lines.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

namespace {

struct Line {
  std::string program;
  std::map<std::string, std::string> options;
  std::string host;  // empty at the server
};

Line parse(int argc, char** argv) {
  Line line;
  line.program = argv[0];
  line.program.erase(0, line.program.rfind('/') + 1);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word[0] != '-')
      line.host = word;
    else if (word.compare(0, 2, "--") == 0 || word == "-F" || word == "-N" || word == "-b")
      line.options[word] = "";
    else
      line.options[word] = argv[++i];
  }
  return line;
}

double number(const Line& line, const std::string& option, double otherwise) {
  const auto found = line.options.find(option);
  return found == line.options.end() ? otherwise : std::atof(found->second.c_str());
}

int meet(const Line& line) {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(number(line, "-p", 18515)));
  auto* at = reinterpret_cast<sockaddr*>(&address);
  const int on = 1;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!line.host.empty()) {
    if (inet_pton(AF_INET, line.host.c_str(), &address.sin_addr) != 1 ||
        connect(made, at, sizeof address) != 0) {
      std::fprintf(stderr, "Couldn't connect to %s\n", line.host.c_str());
      std::exit(1);
    }
    return made;
  }
  if (bind(made, at, sizeof address) != 0) std::exit(1);
  listen(made, 1);
  return accept(made, nullptr, nullptr);
}

// Both ends must have been told the same, as the real ones demand.
bool agree(int file, const Line& line) {
  std::string mine = line.program;
  for (const auto* name : {"-s", "-n", "-t", "-q", "-b"})
    if (const auto found = line.options.find(name); found != line.options.end())
      mine += std::string(name) + found->second;
  mine.resize(200);
  std::string other(200, '\0');
  return send(file, mine.data(), mine.size(), MSG_NOSIGNAL) == 200 &&
         recv(file, other.data(), other.size(), MSG_WAITALL) == 200 && mine == other;
}

void print_latency(const Line& line) {
  const double typical = 1 + number(line, "-s", 2) / 1000 + (line.program == "ib_send_lat" ? 1 : 0);
  std::printf(
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
      "t_stdev[usec]   99%% percentile[usec]   99.9%% percentile[usec] \n");
  std::printf("Conflicting CPU frequency values detected: 2200.000000 != 1040.353000.\n");
  std::printf(" %-7.0f %-10.0f   %-7.2f %-7.2f %-7.2f \t %-7.2f \t%-7.2f\t\t%-7.2f\t\t%-7.2f\n",
              number(line, "-s", 2), number(line, "-n", 1000), typical / 2, 50.0, typical,
              typical + 3, 1.0, typical + 4, 40.0);
}

void print_rate(const Line& line) {
  const bool read = line.program == "ib_read_bw";
  double mib = read ? 5000 : 8000 * (1 + number(line, "-q", 1) / 100);
  if (line.options.count("-b") != 0) mib *= 1.5;
  const double bytes = number(line, "-s", 65536);
  std::printf(
      " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n");
  std::printf(" %-7.0f    %-10.0f       %-7.2f            %-7.2f\t\t     %-7.6f\n", bytes,
              number(line, "-n", 5000) * number(line, "-q", 1), 0.0, mib,
              mib * 1048576 / bytes / 1e6);
}

int no_device() {
  std::fprintf(stderr,
               "libibverbs: Warning: couldn't load driver 'x': x.so\n Did not detect devices \n"
               " If device exists, check if driver is up\n");
  return 7;
}

}  // namespace

int main(int argc, char** argv) {
  const Line line = parse(argc, argv);
  const char* set = std::getenv("FAKE_PERFTEST");
  const std::string fake = set == nullptr ? "" : set;
  if (const char* log = std::getenv("FAKE_PERFTEST_LOG")) {
    std::string text = line.program;
    for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
      text += std::string(" # sees ") + visible;
    std::ofstream(log, std::ios::app) << text + "\n" << std::flush;
  }
  if (line.options.count("--help") != 0) {
    std::printf("Usage:\n  -s, --size=<size>\n");
    if (fake != "no cuda") std::printf("  --use_cuda=<id>\n  --use_cuda_dmabuf\n");
    return 1;
  }
  if (fake == "no device" || fake == "no " + line.program) return no_device();
  if (fake == "no dmabuf" && line.options.count("--use_cuda_dmabuf") != 0) return 1;
  if (fake == "crash" && !line.host.empty()) std::abort();
  if (fake == "deaf" && line.host.empty()) pause();
  const int file = meet(line);
  if (fake == "hang" && !line.host.empty()) pause();
  if (!agree(file, line)) {
    std::fprintf(stderr, "the ends differ\n");
    return 1;
  }
  if (fake == "die" && line.host.empty()) {
    std::fprintf(stderr, "Failed to allocate\n");
    return 1;
  }
  std::printf("---------------------------------------------------------------------\n");
  if (fake == "nonsense" || line.host.empty()) return 0;
  if (line.program.find("_lat") != std::string::npos)
    print_latency(line);
  else
    print_rate(line);
  return 0;
}
