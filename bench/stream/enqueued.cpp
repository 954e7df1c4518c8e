// SPDX-License-Identifier: Apache-2.0
#include "stream/enqueued.hpp"

#include "mpi/errors.hpp"

#ifdef MPIX_STREAM_NULL
extern "C" {
#define NEARPEAK_WEAK __attribute__((weak))
int MPIX_GPU_query_support(int, int*) NEARPEAK_WEAK;
int MPIX_Info_set_hex(MPI_Info, const char*, const void*, int) NEARPEAK_WEAK;
int MPIX_Stream_create(MPI_Info, MPIX_Stream*) NEARPEAK_WEAK;
int MPIX_Stream_free(MPIX_Stream*) NEARPEAK_WEAK;
int MPIX_Stream_comm_create(MPI_Comm, MPIX_Stream, MPI_Comm*) NEARPEAK_WEAK;
int MPIX_Send_enqueue(const void*, int, MPI_Datatype, int, int, MPI_Comm) NEARPEAK_WEAK;
int MPIX_Recv_enqueue(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*) NEARPEAK_WEAK;
#undef NEARPEAK_WEAK
}
#endif

namespace nearpeak {
namespace {

constexpr const char* kNone =
    "the library has no messages that are given to a stream (MPIX streams)";

}  // namespace

#ifdef MPIX_STREAM_NULL

namespace {

bool is_there() {
  return MPIX_GPU_query_support != nullptr && MPIX_Info_set_hex != nullptr &&
         MPIX_Stream_create != nullptr && MPIX_Stream_free != nullptr &&
         MPIX_Stream_comm_create != nullptr && MPIX_Send_enqueue != nullptr &&
         MPIX_Recv_enqueue != nullptr;
}

// MPICH 5.0.2 built without CUDA ends the job where it is given a stream of it.
bool knows(const Stream& stream) {
  int known = 0;
  const bool hip = stream.native_type() == "hipStream_t";
  MPIX_GPU_query_support(hip ? MPIX_GPU_SUPPORT_HIP : MPIX_GPU_SUPPORT_CUDA, &known);
  return known != 0;
}

int create(Stream& native, MPIX_Stream& stream) {
  void* const value = native.native();
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", native.native_type().c_str());
  MPIX_Info_set_hex(info, "value", &value, sizeof(value));
  const int result = MPIX_Stream_create(info, &stream);
  MPI_Info_free(&info);
  return result;
}

}  // namespace

StreamComm::StreamComm(Group& group, MPI_Comm comm, Stream& stream) {
  const ErrorsReturned errors;
  std::string why;
  if (!is_there())
    why = kNone;
  else if (stream.native_type().empty())
    why = "streams of this device cannot be given to MPI";
  else if (!knows(stream))
    why = "the library was built without " + stream.native_type();
  else if (const int result = create(stream, stream_); result != MPI_SUCCESS)
    why = "the library takes no streams of the device: " + error_text(result);
  why = group.first_reason(why);
  if (why.empty()) {
    const int result = MPIX_Stream_comm_create(comm, stream_, &comm_);
    if (result != MPI_SUCCESS)
      why = "the library makes no communicator of a stream: " + error_text(result);
    why = group.first_reason(why);
  }
  if (why.empty()) return;
  release();
  throw Unfit(why);
}

StreamComm::~StreamComm() { release(); }

void StreamComm::release() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  if (stream_ != MPIX_STREAM_NULL) MPIX_Stream_free(&stream_);
}

void StreamComm::send(const void* data, int bytes, int peer) {
  MPIX_Send_enqueue(data, bytes, MPI_BYTE, peer, kTag, comm_);
}

void StreamComm::receive(void* data, int bytes, int peer) {
  MPIX_Recv_enqueue(data, bytes, MPI_BYTE, peer, kTag, comm_, MPI_STATUS_IGNORE);
}

#else

StreamComm::StreamComm(Group&, MPI_Comm, Stream&) { throw Unfit(kNone); }
StreamComm::~StreamComm() = default;
void StreamComm::release() {}
void StreamComm::send(const void*, int, int) {}
void StreamComm::receive(void*, int, int) {}

#endif

}  // namespace nearpeak
