// SPDX-License-Identifier: Apache-2.0
#include "mpi/agreement.hpp"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <nlohmann/json.hpp>

#include "options/launched.hpp"
#include "options/options.hpp"

namespace nearpeak {
namespace {

int ranks_of(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}

bool is_index(const std::string& asked) {
  return std::all_of(asked.begin(), asked.end(),
                     [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

// One rank with the device that it asked for, by --devices or by its place on the host, and took.
struct Taken {
  int rank;
  std::string host;
  std::string asked;
  std::string uuid;

  std::string text() const {
    return "rank " + std::to_string(rank) + " on " + host + " asked for " + asked + " and has " +
           uuid;
  }
};

// Throws BadInput. An index and a UUID may well name the same device, and where each rank sees a
// device of its own alone, the first of each is another.
void check_pair(const Taken& a, const Taken& b) {
  if (a.host != b.host || is_index(a.asked) != is_index(b.asked)) return;
  if ((a.asked == b.asked) == (a.uuid == b.uuid)) return;
  if (a.uuid != b.uuid && a.asked.find(kByPlace) != std::string::npos) return;
  throw BadInput(std::string(a.uuid == b.uuid ? "two ranks share a device that asked for two: "
                                              : "two ranks have two devices that asked for one: ") +
                 a.text() + ", " + b.text() +
                 ": give UUIDs in --devices, or the same CUDA_VISIBLE_DEVICES to every rank");
}

}  // namespace

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

std::vector<std::string> gather(const std::string& text, MPI_Comm comm) {
  const int ranks = ranks_of(comm);
  int length = static_cast<int>(text.size());
  int longest = 0;
  MPI_Allreduce(&length, &longest, 1, MPI_INT, MPI_MAX, comm);
  std::string mine = text;
  mine.resize(longest + 1, '\0');
  std::string all(mine.size() * ranks, '\0');
  MPI_Allgather(mine.data(), longest + 1, MPI_CHAR, all.data(), longest + 1, MPI_CHAR, comm);
  std::vector<std::string> out;
  for (int i = 0; i < ranks; ++i) out.emplace_back(all.c_str() + i * mine.size());
  return out;
}

std::optional<WrongData> first_wrong(const std::optional<Mismatch>& mine, MPI_Comm comm) {
  const int ranks = ranks_of(comm);
  const long long local[4] = {mine ? 1 : 0, mine ? static_cast<long long>(mine->byte) : 0,
                              mine ? mine->expected : 0, mine ? mine->got : 0};
  std::vector<long long> all(4 * ranks);
  MPI_Allgather(local, 4, MPI_LONG_LONG, all.data(), 4, MPI_LONG_LONG, comm);
  for (int i = 0; i < ranks; ++i)
    if (all[4 * i] != 0)
      return WrongData{i, Mismatch{static_cast<std::size_t>(all[4 * i + 1]),
                                   static_cast<unsigned>(all[4 * i + 2]),
                                   static_cast<unsigned>(all[4 * i + 3])}};
  return std::nullopt;
}

bool everywhere(bool mine, MPI_Comm comm) {
  const int local = mine ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&local, &all, 1, MPI_INT, MPI_MIN, comm);
  return all != 0;
}

int settle(const Failure& mine, MPI_Comm comm) {
  int status = 0;
  MPI_Allreduce(&mine.status, &status, 1, MPI_INT, MPI_MAX, comm);
  if (status == 0) return 0;
  const auto texts = gather(mine.text, comm);
  if (rank_in(comm) != kLeader) return status;
  const bool same = std::all_of(texts.begin(), texts.end(),
                                [&](const std::string& text) { return text == texts.front(); });
  for (std::size_t i = 0; i < (same ? 1 : texts.size()); ++i) {
    if (texts[i].empty()) continue;
    const std::string who = same ? "" : "rank " + std::to_string(i) + ": ";
    std::cerr << "nearpeak-mpi: " + who + texts[i] + "\n" << std::flush;
  }
  return status;
}

std::vector<std::string> gather_places(const DeviceChoice& devices, MPI_Comm comm) {
  const int rank = rank_in(comm);
  if (!everywhere(devices.rank() < 0 || devices.rank() == rank, comm))
    throw BadInput(
        "the launcher numbers the ranks otherwise than MPI does: unset the variables of "
        "other launchers (" +
        rank_variables() + ")");
  RankPlace place = this_place(rank);
  place.device = devices.place();
  const auto places = gather(to_json(place), comm);
  const auto asked = gather(devices.asked(), comm);
  std::vector<Taken> taken;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (asked[i].empty()) continue;
    const auto one = nlohmann::json::parse(places[i]);
    const Taken next{static_cast<int>(i), one["host"], asked[i], one["device"]["uuid"]};
    for (const Taken& other : taken) check_pair(other, next);
    taken.push_back(next);
  }
  return places;
}

std::unique_ptr<RecordWriter> open_writer(const std::string& jsonl, MPI_Comm comm) {
  auto writer = std::make_unique<RecordWriter>();
  std::string error;
  try {
    if (rank_in(comm) == kLeader && !jsonl.empty()) writer = std::make_unique<RecordWriter>(jsonl);
  } catch (const std::runtime_error& failure) {
    error = failure.what();
  }
  error = gather(error, comm)[kLeader];
  if (!error.empty()) throw BadInput(error);
  return writer;
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  return text;
}

}  // namespace nearpeak
