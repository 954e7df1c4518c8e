// SPDX-License-Identifier: Apache-2.0
#include "record/record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "options/options.hpp"

extern char** environ;

namespace nearpeak {
namespace {

using Json = nlohmann::ordered_json;

Json name_json(const char* record, const CaseName& name) {
  Json out;
  out["record"] = record;
  out["benchmark"] = name.benchmark;
  out["metric"] = name.metric.name;
  out["size_bytes"] = name.size_bytes;
  out["buffers"] = name.buffers;
  out["axes"] = name.axes;
  out["method"] = name.method ? Json(*name.method) : Json(nullptr);
  return out;
}

// A case that has no samples of any metric.
Json problem_json(const CaseName& name, const char* status, const std::string& message) {
  Json out = name_json("problem", name);
  out.erase("metric");
  out["status"] = status;
  out["message"] = message;
  return out;
}

// Text from outside may be no UTF-8.
std::string text_of(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Seven significant digits: beyond what any clock here resolves, a third of the bytes.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::strtod(text, nullptr);
}

Json rounded(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(rounded(value));
  return out;
}

Json by_phase(const std::vector<std::string>& names,
              const std::vector<std::vector<double>>& values) {
  Json out = Json::object();
  for (std::size_t i = 0; i < names.size(); ++i) out[names[i]] = rounded(values[i]);
  return out;
}

Json counters_json(const Counters& counters) {
  Json out{{"opening_us", std::round(counters.opening_us())},
           {"links", Json::array()},
           {"unread", Json::array()}};
  for (const RankLink& each : counters.links()) {
    Json link{{"rank", each.rank}, {"kind", each.link.kind}, {"name", each.link.name}};
    if (each.link.wraps_at != 0) link["wraps_at_bytes"] = each.link.wraps_at;
    out["links"].push_back(link);
  }
  for (const RankUnread& each : counters.unread())
    out["unread"].push_back(
        {{"rank", each.rank}, {"kind", each.unread.kind}, {"why", each.unread.why}});
  return out;
}

Json bytes_json(std::size_t link, const LinkBytes& bytes) {
  return {{"link", link}, {"sent_bytes", bytes.sent}, {"received_bytes", bytes.received}};
}

Json counted_json(const CountedCase& of) {
  Json out{{"seconds", of.counted.seconds},
           {"reading_us", std::round(of.counted.reading_us)},
           {"payload", Json(nullptr)},
           {"links", Json::array()}};
  if (!of.payload.empty()) {
    Json sent = Json::array();
    Json received = Json::array();
    for (const LinkBytes& rank : of.payload) {
      sent.push_back(rank.sent);
      received.push_back(rank.received);
    }
    out["payload"] = {{"sent_bytes", sent}, {"received_bytes", received}};
  }
  for (const auto& on : of.counted.on) {
    out["links"].push_back(bytes_json(on.link, on.bytes));
    if (on.at_least) out["links"].back()["at_least"] = true;
  }
  if (!of.counted.lost.empty()) out["lost"] = of.counted.lost;
  return out;
}

}  // namespace

RecordWriter::RecordWriter(const std::string& path) : path_(path) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

RecordWriter::~RecordWriter() {
  if (file_ >= 0) close(file_);
}

void RecordWriter::line(const std::string& text) {
  if (file_ < 0) return;
  const std::string whole = text + "\n";
  std::size_t done = 0;
  while (done < whole.size()) {
    const ssize_t count = write(file_, whole.data() + done, whole.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::runtime_error("cannot write " + path_ + ": " + std::strerror(errno));
    done += static_cast<std::size_t>(count);
  }
}

void RecordWriter::environment(const std::string& program,
                               const std::optional<std::string>& library_version,
                               const std::vector<std::string>& places, const ClockQuality& clock,
                               const Counters* counters) {
  Json out;
  out["record"] = "environment";
  out["program"] = program;
  out["version"] = kVersion;
  out["library_version"] = library_version ? Json(*library_version) : Json(nullptr);
  out["ranks"] = Json::array();
  for (const auto& place : places) out["ranks"].push_back(Json::parse(place));
  out["clock"] = {{"tick_ns", clock.tick_ns}, {"read_ns", clock.read_ns}};
  out["env"] = relevant_environment(environ);
  if (counters != nullptr) out["counters"] = counters_json(*counters);
  line(text_of(out));
}

void RecordWriter::begins(const CaseName& name) {
  Json out = name_json("case", name);
  out.erase("metric");
  out.erase("method");
  line(text_of(out));
}

void RecordWriter::samples(const CaseResult& result) {
  const Measurement& measured = result.measurement;
  Json out = name_json("samples", result.name);
  out["unit"] = result.name.metric.unit;
  out["better"] = result.name.metric.better;
  out["window"] = result.window;
  if (result.operations > 1) out["operations"] = result.operations;
  out["batch"] = measured.batch;
  out["kept_every"] = measured.kept_every;
  out["iterations"] = measured.iterations;
  out["warmup_iterations"] = measured.warmup_iterations;
  out["first_use_us"] = measured.first_use_us;
  out["seconds"] = measured.seconds;
  out["limited"] = measured.limited ? Json(*measured.limited) : Json(nullptr);
  out["offset"] = result.offset;
  out["verified"] = result.verified;
  out["needs"] = result.needs;
  out["trial"] = result.trial;
  out["cache_line_ns"] = Json::array();
  for (const auto& ns : result.cache_line_ns)
    out["cache_line_ns"].push_back(ns ? Json(std::round(*ns)) : Json(nullptr));
  out["phases"] = by_phase(result.phases, measured.phases_us);
  if (!measured.shortest_phases_us.empty()) {
    out["shortest_phases"] = by_phase(result.phases, measured.shortest_phases_us);
    out["mean_phases"] = by_phase(result.phases, measured.mean_phases_us);
  }
  if (result.work)
    out["work"] = {{"copied_bytes", result.work->copied_bytes},
                   {"messages", result.work->messages},
                   {"own_bytes", result.work->own_bytes},
                   {"announced_bytes", result.work->announced_bytes}};
  if (const auto& of = result.percentiles)
    out["percentiles"] = {{"iterations", of->iterations}, {"p50", rounded(of->p50)},
                          {"p90", rounded(of->p90)},      {"p99", rounded(of->p99)},
                          {"p999", rounded(of->p999)},    {"longest", rounded(of->longest)}};
  if (result.counted) out["counted"] = counted_json(*result.counted);
  if (!result.ranks.empty()) {
    out["ranks"] = Json::array();
    for (const auto& rank : result.ranks) out["ranks"].push_back(rounded(rank));
  }
  out["samples"] = rounded(result.samples);
  line(text_of(out));
}

void RecordWriter::wrong_data(const CaseName& name, const WrongData& wrong) {
  Json out = problem_json(name, "wrong data", to_text(wrong, name.size_bytes));
  out["rank"] = wrong.rank;
  if (!wrong.where.left_early) {
    out["byte"] = wrong.where.byte;
    out["expected"] = wrong.where.expected;
    out["got"] = wrong.where.got;
  }
  line(text_of(out));
}

void RecordWriter::skipped(const CaseName& name, const std::string& reason) {
  line(text_of(problem_json(name, "skipped", reason)));
}

void RecordWriter::too_slow(const CaseName& name, double at_least, const std::string& reason) {
  Json out = problem_json(name, kTooSlow, reason);
  out["at_least"] = at_least;
  line(text_of(out));
}

void RecordWriter::probe(const ProbeCase& tried, const ProbeOutcome& outcome) {
  Json out;
  out["record"] = "probe";
  out["buffers"] = tried.buffers;
  out["allocator"] = tried.allocator;
  out["operation"] = tried.operation;
  out["offset"] = tried.offset;
  out["check"] = tried.check;
  out["status"] = outcome.status;
  out["message"] = outcome.message;
  out["size_bytes"] = outcome.size_bytes ? Json(*outcome.size_bytes) : Json(nullptr);
  if (outcome.wrong) {
    out["rank"] = outcome.wrong->rank;
    out["byte"] = outcome.wrong->where.byte;
    out["expected"] = outcome.wrong->where.expected;
    out["got"] = outcome.wrong->where.got;
  }
  if (outcome.status == "leaks") {
    out["leaked_host_bytes"] = std::round(outcome.leaked_host_bytes);
    out["leaked_device_bytes"] = std::round(outcome.leaked_device_bytes);
  }
  line(text_of(out));
}

void RecordWriter::pairs(const PairsRound& round) {
  Json out;
  out["record"] = "pairs";
  out["round"] = round.number;
  out["small_bytes"] = round.small_bytes;
  out["large_bytes"] = round.large_bytes;
  out["first"] = round.first;
  out["second"] = round.second;
  out["latency_us"] = rounded(round.latency_us);
  out["bandwidth_gbs"] = rounded(round.bandwidth_gbs);
  line(text_of(out));
}

void RecordWriter::wrong_pair(int sender, std::size_t size_bytes, const WrongData& wrong) {
  Json out;
  out["record"] = "problem";
  out["status"] = "wrong data";
  out["message"] = to_text(wrong, size_bytes);
  out["rank"] = wrong.rank;
  out["sender"] = sender;
  out["size_bytes"] = size_bytes;
  out["byte"] = wrong.where.byte;
  out["expected"] = wrong.where.expected;
  out["got"] = wrong.where.got;
  line(text_of(out));
}

std::string to_text(const WrongData& wrong, std::size_t size_bytes) {
  if (wrong.where.left_early)
    return "rank " + std::to_string(wrong.rank) +
           " left the operation before another rank came to it";
  const std::size_t whole = wrong.where.whole != 0 ? wrong.where.whole : size_bytes;
  const bool gap = wrong.where.byte >= whole;
  return "rank " + std::to_string(wrong.rank) + " received wrong data: byte " +
         std::to_string(wrong.where.byte) + " of " + std::to_string(whole) + " in buffer " +
         std::to_string(wrong.where.slot) + " is " + std::to_string(wrong.where.got) + ", not " +
         std::to_string(wrong.where.expected) +
         (gap                   ? " (written behind the message)"
          : wrong.where.between ? " (written between its blocks)"
                                : "");
}

std::string to_json(const RankPlace& place) {
  Json out;
  out["rank"] = place.rank;
  out["host"] = place.host;
  out["cpus"] = place.cpus;
  out["numa_nodes"] = place.numa_nodes;
  out["device"] = nullptr;
  if (const auto& device = place.device)
    out["device"] = {{"uuid", device->uuid}, {"name", device->name}, {"pci", device->pci}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

bool has_any(const std::string& text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

bool is_capital_or_digit(char letter) {
  return (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
}

// A name in capitals by its words, `UCX_TLS` as UCX and TLS.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (char letter : name) {
    if (is_capital_or_digit(letter))
      words.back() += letter;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_any(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The end of a name tells of a secret, but for a number behind it.
bool ends_as_a_secret(std::string name) {
  while (!name.empty() && (name.back() == '_' || (name.back() >= '0' && name.back() <= '9')))
    name.pop_back();
  if (ends_with(name, "PW") || ends_with(name, "PWD")) return true;
  const auto words = words_of(name);
  return !words.empty() && is_capital_or_digit(name.back()) &&
         is_any(words.back(), {"PIN", "DSN", "SAS", "SIG", "CONN", "HOOK", "PAT", "PSK", "OTP"});
}

bool is_of_a_family(const std::string& name) {
  for (const char* family :
       {"OMPI_", "OPAL_", "PRTE_", "PMIX_", "UCX_", "FI_", "I_MPI_", "MPIR_", "MPICH_", "MV2_",
        "MVP_", "PAMI_", "NCCL_", "RCCL_", "KMP_", "SLURM_", "LMOD_", "MODULES_", "EASYBUILD_"})
    if (name.rfind(family, 0) == 0) return true;
  return false;
}

// As src/nearpeak/withheld.py has it. Launchers pass keys of their own and contact addresses so,
// and where a user's files are; MCA's names are in lower case.
bool may_be_secret(std::string name) {
  for (char& letter : name)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  // Settings that are called like a secret, and folders.
  if (is_any(name, {"I_MPI_PIN", "I_MPI_OFFLOAD_PIN", "OMPI_MCA_HOOK", "PWD", "OLDPWD"}))
    return false;
  if (ends_as_a_secret(name)) return true;
  if (!is_of_a_family(name))
    for (const std::string& word : words_of(name))
      if (is_any(word, {"CONN", "CONNECTION", "HOOK", "HOOKS", "DSN", "SAS"})) return true;
  // Keys of memory and of partitions, UCX_RKEY_PTR_SEG_SIZE, are none.
  for (const std::string harmless : {"_RKEY", "_PKEY", "_LKEY", "_MKEY", "BYPASS"})
    for (auto at = name.find(harmless); at != std::string::npos; at = name.find(harmless))
      name.erase(at, harmless.size());
  return has_any(name,
                 {"KEY",     "SECRET",   "TOKEN",    "PASS",      "CRED",          "COOKIE",
                  "AUTH",    "PRIVATE",  "BEARER",   "SIGNATURE", "UUID",          "PRECONDITION",
                  "_WDIR",   "JWT",      "WEBHOOK",  "WEB_HOOK",  "HOOK_URL",      "HOOK_URI",
                  "CONNSTR", "CONN_STR", "CONN_URL", "CONN_URI",  "CONNECTIONSTR", "CONNECTION_STR",
                  "PINCODE", "PIN_CODE"});
}

// MCA has variables with lists of others, `NAME=value;NAME2=value`: each name before a `=` counts.
bool lists_a_secret(const std::string& value) {
  std::string name;
  for (char letter : value) {
    if (letter == '=' && may_be_secret(name)) return true;
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.' ||
        letter == '-')
      name += letter;
    else
      name.clear();
  }
  return false;
}

}  // namespace

std::map<std::string, std::string> relevant_environment(const char* const* environment) {
  static const char* const kPrefixes[] = {
      "OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_",    "UCX_",      "MPIR_CVAR_", "MPICH_",
      "FI_",       "I_MPI_",    "MV2_",         "MVP_",      "PAMI_",      "NCCL_",
      "OMP_NUM_",  "OMP_PROC_", "CUDA_VISIBLE", "CUDA_MPS_", "HIP_VISIBLE"};
  std::map<std::string, std::string> out;
  for (; *environment != nullptr; ++environment) {
    const std::string entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    bool wanted = false;
    for (const char* prefix : kPrefixes) wanted = wanted || name.rfind(prefix, 0) == 0;
    const std::string value = entry.substr(equals + 1);
    if (wanted && !may_be_secret(name) && !lists_a_secret(value)) out[name] = value;
  }
  return out;
}

}  // namespace nearpeak
