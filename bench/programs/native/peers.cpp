// SPDX-License-Identifier: Apache-2.0
// The mode `peers`: copies between every two GPUs of a host, by every way straight from one's
// memory into the other's, of which each byte is compared. It measures nothing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "benchmark/benchmark.hpp"
#include "group/failure.hpp"
#include "programs/native/mode.hpp"
#include "programs/native/process.hpp"
#include "transport/transport.hpp"

namespace nearpeak {
namespace {

// As the methods of ceilings that copy so.
struct PeerWay {
  const char* name;
  bool kernel;
  bool pull;  // the receiver's device copies
};
constexpr PeerWay kPeerWays[] = {
    {"ce", false, false}, {"ce-pull", false, true}, {"sm", true, false}, {"sm-pull", true, true}};

// What a receiver has seen.
struct Seen {
  std::uint64_t wrong_bytes = 0;
  std::uint64_t offset = 0;  // of the first; behind the message: where nothing was to be written
  unsigned expected = 0;
  unsigned got = 0;
  bool wrong = false;
};

struct Peer {
  std::unique_ptr<OpenedMemory> out;
  std::unique_ptr<OpenedMemory> in;
  std::string why_none;  // or empty
};

struct Exported {
  IpcHandle out;
  IpcHandle in;
};

// One GPU's process.
class PeerRank {
 public:
  PeerRank(SharedGroup& group, Device& device, std::size_t bytes)
      : group_(group),
        device_(device),
        out_(device.memory(BufferKind::kDevice), bytes, 1),
        in_(device.memory(BufferKind::kDevice), bytes, 1),
        stream_(device.new_stream()),
        why_no_kernels_(why_no_kernels(device)) {
    out_.fill({seed_of(group.rank())});
    if (!why_no_kernels_.empty()) return;
    try {
      motion_ = device.kernels()->motion();
      copy_slots_ = motion_->kernel("copy_slots");
    } catch (const std::exception& error) {
      const std::string text = error.what();
      why_no_kernels_ = text.substr(0, text.find('\n'));
    }
  }

  // Collective, as what follows.
  void open_all() {
    Exported mine;
    const std::string why = nearpeak::failure_of([&] {
      mine.out = ipc_of(device_).export_memory(out_.slot(0));
      mine.in = ipc_of(device_).export_memory(in_.slot(0));
    });
    const auto reasons = group_.gather(why);
    const auto all = group_.gather(mine);
    peers_.resize(all.size());
    for (const int other : group_.others()) {
      const auto place = static_cast<std::size_t>(other);
      Peer& peer = peers_[place];
      peer.why_none = reasons[place];
      if (!peer.why_none.empty()) continue;
      peer.why_none = nearpeak::failure_of([&] {
        peer.out = ipc_of(device_).open(all[place].out);
        peer.in = ipc_of(device_).open(all[place].in);
      });
    }
  }
  void close_all() {
    peers_.clear();
    group_.barrier();  // nobody's memory goes while another still has it open
  }

  // Every rank sends to the one `distance` behind it. The exit status.
  int check(const PeerWay& way, int distance, std::uint64_t rounds) {
    const int size = group_.size();
    const int receiver = (group_.rank() + distance) % size;
    const int sender = (group_.rank() + size - distance) % size;
    const int partner = way.pull ? sender : receiver;  // of what this rank's device copies
    const auto unable = group_.gather(why_not(way, peers_[static_cast<std::size_t>(partner)]));
    const auto copier_of = [&](int from) { return way.pull ? (from + distance) % size : from; };
    const bool receives = unable[static_cast<std::size_t>(copier_of(sender))].empty();
    const bool copies = unable[static_cast<std::size_t>(group_.rank())].empty();
    Seen seen;
    std::string no_data;  // why this rank's could not be written or looked at
    std::string no_copy;  // why its device did not copy
    const auto step = [&](bool mine, std::string& failed, const auto& action) {
      if (mine && failed.empty()) failed = nearpeak::failure_of(action);
      group_.barrier();
    };
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      const bool looks = receives && !seen.wrong;
      step(true, no_data, [&] {
        out_.fill({seed_of(group_.rank()), round}, Part::kStamps);
        if (looks) in_.poison(seed_of(sender));
      });
      if (copies && no_copy.empty()) {
        // By the rank itself: where copies never return, all ranks are ended.
        const int from = way.pull ? sender : group_.rank();
        nlohmann::ordered_json line = line_of(way, from, (from + distance) % size);
        line["status"] = "copying";
        print(line);
        no_copy =
            nearpeak::failure_of([&] { copy(way, peers_[static_cast<std::size_t>(partner)]); });
        line["status"] = "returned";
        print(line);
      }
      group_.barrier();
      step(looks, no_data, [&] { seen = look({seed_of(sender), round}); });
    }
    const auto unmade = group_.gather(no_copy);
    const auto unseen = group_.gather(no_data);
    const auto all = group_.gather(seen);
    int status = kGood;
    for (int from = 0; from < size; ++from) {
      const int to = (from + distance) % size;
      const auto copier = static_cast<std::size_t>(copier_of(from));
      std::string failure = unmade[copier];
      for (const int end : {to, from})
        if (failure.empty()) failure = unseen[static_cast<std::size_t>(end)];
      status = std::max(
          status, tell(way, from, to, unable[copier], failure, all[static_cast<std::size_t>(to)]));
    }
    return status;
  }

 private:
  std::uint64_t seed_of(int sender) const { return payload_seed(sender, out_.layout().bytes); }

  std::string why_not(const PeerWay& way, const Peer& partner) const {
    return partner.why_none.empty() && way.kernel ? why_no_kernels_ : partner.why_none;
  }

  void copy(const PeerWay& way, const Peer& partner) {
    void* const to = way.pull ? in_.slot(0) : partner.in->data();
    const void* const from = way.pull ? partner.out->data() : out_.slot(0);
    const std::uint64_t bytes = out_.layout().bytes;
    if (way.kernel) {
      constexpr std::uint64_t kBlocks = 1024;
      constexpr std::uint64_t kStride = 0;
      constexpr std::uint64_t kCount = 1;
      copy_slots_->launch({.blocks = kBlocks, .threads = 256},
                          {&to, &from, &bytes, &kStride, &kCount, &kBlocks}, *stream_);
    } else {
      device_.copy_async(to, from, bytes, *stream_);
    }
    stream_->synchronize();
  }

  Seen look(const Payload& payload) const {
    const auto mismatch = in_.find_mismatch(payload);
    if (!mismatch) return {};
    const SlotLayout& layout = in_.layout();
    std::vector<char> expected(layout.stride);
    std::vector<char> got(layout.stride);
    nearpeak::fill(expected.data(), layout, payload);
    in_.memory().to_host(got.data(), in_.slot(0), layout.bytes);
    Seen seen{.offset = mismatch->byte,
              .expected = mismatch->expected,
              .got = mismatch->got,
              .wrong = true};
    for (std::size_t i = 0; i < layout.bytes; ++i) seen.wrong_bytes += expected[i] != got[i];
    return seen;
  }

  nlohmann::ordered_json line_of(const PeerWay& way, int from, int to) const {
    return {{"from", from}, {"to", to}, {"way", way.name}, {"bytes", out_.layout().bytes}};
  }

  // At once: what is kept back is lost if this rank is ended.
  static void print(const nlohmann::ordered_json& line) {
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }

  // What came of a copy, by the leader.
  int tell(const PeerWay& way, int from, int to, const std::string& why, const std::string& failure,
           const Seen& seen) const {
    nlohmann::ordered_json line = line_of(way, from, to);
    int status = kGood;
    if (!why.empty()) {
      line.update({{"status", "skipped"}, {"message", why}});
    } else if (!failure.empty()) {
      line.update({{"status", "failed"}, {"message", failure}});
      status = kFailed;
    } else if (seen.wrong) {
      line.update({{"status", "wrong data"},
                   {"offset", seen.offset},
                   {"expected", seen.expected},
                   {"got", seen.got},
                   {"wrong_bytes", seen.wrong_bytes}});
      status = kWrongData;
    } else {
      line.update({{"status", "right"}});
    }
    if (group_.leads()) print(line);
    return status;
  }

  SharedGroup& group_;
  Device& device_;
  SlotBuffer out_;
  SlotBuffer in_;
  std::unique_ptr<Stream> stream_;
  std::string why_no_kernels_;
  std::unique_ptr<Program> motion_;
  std::unique_ptr<Kernel> copy_slots_;
  std::vector<Peer> peers_;
};

class PeersMode final : public Mode {
 public:
  PeersMode()
      : Mode("peers",
             "every byte of copies between every two GPUs, by copy engines and kernels; it "
             "measures nothing") {}

  std::vector<Metric> metrics() const override { return {}; }

  void add_options(CLI::App& app) override {
    app.add_option_function<std::string>(
           "--devices", [this](const std::string& text) { devices_ = split(text); },
           "the GPUs, by index or UUID: 0,1")
        ->required();
    app.add_option_function<std::string>(
        "--size", [this](const std::string& text) { bytes_ = parse_bytes(text); },
        "bytes of a copy: 64M");
    app.add_option("--rounds", rounds_, "copies by each way, each of other data")
        ->default_val(rounds_);
  }

  int run() override {
    if (devices_.size() < 2) throw BadInput("peers needs two --devices or more: --devices 0,1");
    if (bytes_ == 0 || rounds_ == 0) throw BadInput("peers needs a --size and --rounds above 0");
    const std::vector<int> usable = this_place(0).cpus;
    std::vector<int> cpus;
    for (std::size_t i = 0; i < devices_.size(); ++i) cpus.push_back(usable[i % usable.size()]);
    return run_group(cpus, kStallSeconds, [this](SharedGroup& group) { return run_rank(group); });
  }

 private:
  static constexpr double kStallSeconds = 120;

  int run_rank(SharedGroup& group) const {
    TakenDevice taken;
    std::optional<PeerRank> rank;
    const Failure failure = failure_in([&] {
      taken = take_device(devices_[static_cast<std::size_t>(group.rank())]);
      rank.emplace(group, *taken.device, bytes_);
    });
    int status = settle("nearpeak-native", failure, group);
    if (status == kGood) {
      rank->open_all();
      for (int distance = 1; distance < group.size(); ++distance)
        for (const PeerWay& way : kPeerWays)
          status = std::max(status, rank->check(way, distance, rounds_));
      rank->close_all();
    }
    group.barrier();  // who ends first has the others ended
    return status;
  }

  std::vector<std::string> devices_;
  std::size_t bytes_ = std::size_t{64} << 20;
  std::uint64_t rounds_ = 4;
};

const RegisterMode<PeersMode> peers_mode;

}  // namespace
}  // namespace nearpeak
