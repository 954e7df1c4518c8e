// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library: messages of NEARPEAK_FAULTY_BYTES bytes arrive on rank
// NEARPEAK_FAULTY_RANK with the fault of NEARPEAK_FAULT:
//   dropped    what was in the buffer before is there again
//   misplaced  every byte is one place further on
//   swapped    of several that are waited for together, the first two are in each other's place
//   gap        a byte behind the buffer is written
//   late       the last bytes are those that were there before
// With the fault "serialized" the library lets one thread call it at a time, with "waiting" all
// ranks wait for each other in MPI_Comm_free, as they may, and with "slow" each MPI_Send takes 50
// ms.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "faulty.hpp"

namespace {

// A message that is being received.
struct Message {
  char* data;
  std::size_t bytes;
  bool stays = false;          // its request is persistent
  std::vector<char> before{};  // what was there when it was begun

  void begin() { before.assign(data, data + bytes); }
  void end() const {
    const std::string fault = fault_of_size(bytes);
    const std::size_t last = bytes < 8 ? bytes : 8;
    if (fault == "dropped") std::memcpy(data, before.data(), bytes);
    if (fault == "misplaced") std::rotate(data, data + bytes - 1, data + bytes);
    if (fault == "gap") data[bytes] = 0x5a;
    if (fault == "late") std::memcpy(data + bytes - last, &before[bytes - last], last);
  }
};

// Every communicator has the ranks of MPI_COMM_WORLD, which programs that are no ranks do not have.
bool is_faulty(const Message& message, MPI_Comm comm) {
  return message.data != nullptr && is_faulty_rank(comm) && is_faulty_size(message.bytes);
}

std::mutex guard;
std::map<MPI_Request, Message> open;

// A handle may have been another request's before.
void remember(MPI_Request request, const Message& message, MPI_Comm comm) {
  const std::lock_guard lock(guard);
  open.erase(request);
  if (is_faulty(message, comm)) open[request] = message;
}

void begin(MPI_Request request) {
  const std::lock_guard lock(guard);
  if (const auto found = open.find(request); found != open.end()) found->second.begin();
}

void end(const std::vector<MPI_Request>& requests) {
  const std::lock_guard lock(guard);
  std::vector<Message> done;
  for (const MPI_Request request : requests) {
    const auto found = open.find(request);
    if (found == open.end()) continue;
    done.push_back(found->second);
    if (!found->second.stays) open.erase(found);
  }
  for (const Message& message : done) message.end();
  if (done.size() > 1 && fault_of_size(done[0].bytes) == "swapped")
    std::swap_ranges(done[0].data, done[0].data + done[0].bytes, done[1].data);
}

}  // namespace

extern "C" {

int MPI_Query_thread(int* level) {
  const int result = PMPI_Query_thread(level);
  if (variable("NEARPEAK_FAULT") == "serialized") *level = MPI_THREAD_SERIALIZED;
  return result;
}

int MPI_Comm_free(MPI_Comm* comm) {
  if (variable("NEARPEAK_FAULT") == "waiting") PMPI_Barrier(*comm);
  return PMPI_Comm_free(comm);
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  if (variable("NEARPEAK_FAULT") == "slow") usleep(50'000);
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  Message message{static_cast<char*>(data), bytes_of(count, type)};
  const bool faulty = is_faulty(message, comm);
  if (faulty) message.begin();
  const int result = PMPI_Recv(data, count, type, source, tag, comm, status);
  if (faulty) message.end();
  return result;
}

int MPI_Sendrecv(const void* out, int sent, MPI_Datatype out_type, int to, int out_tag, void* data,
                 int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                 MPI_Status* status) {
  Message message{static_cast<char*>(data), bytes_of(count, type)};
  const bool faulty = is_faulty(message, comm);
  if (faulty) message.begin();
  const int result =
      PMPI_Sendrecv(out, sent, out_type, to, out_tag, data, count, type, source, tag, comm, status);
  if (faulty) message.end();
  return result;
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Message message{static_cast<char*>(data), bytes_of(count, type)};
  if (is_faulty(message, comm)) message.begin();
  const int result = PMPI_Irecv(data, count, type, source, tag, comm, request);
  remember(*request, message, comm);
  return result;
}

int MPI_Recv_init(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const int result = PMPI_Recv_init(data, count, type, source, tag, comm, request);
  remember(*request, {static_cast<char*>(data), bytes_of(count, type), true}, comm);
  return result;
}

int MPI_Precv_init(void* data, int parts, MPI_Count count, MPI_Datatype type, int source, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int result = PMPI_Precv_init(data, parts, count, type, source, tag, comm, info, request);
  remember(*request, {static_cast<char*>(data), bytes_of(parts * count, type), true}, comm);
  return result;
}

int MPI_Start(MPI_Request* request) {
  begin(*request);
  return PMPI_Start(request);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const std::vector<MPI_Request> all{*request};
  const int result = PMPI_Wait(request, status);
  end(all);
  return result;
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  const std::vector<MPI_Request> all(requests, requests + count);
  const int result = PMPI_Waitall(count, requests, statuses);
  end(all);
  return result;
}

}  // extern "C"
