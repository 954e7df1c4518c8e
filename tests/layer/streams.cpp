// SPDX-License-Identifier: Apache-2.0
// An application that gives MPI memory for which there is still work in the default stream of its
// device. MPI promises nothing then: with NEARPEAK_LAYER_STREAM=legacy the layer waits for the
// work, without it the work comes later. The fake driver does it when somebody waits, and not
// before; on GPUs other work comes first.
#include <cstring>

#include "application.hpp"

namespace {

constexpr int kTag = 7, kOld = 1, kNew = 2;

void nothing_first() {}

bool awaited() {
  const char* const which = std::getenv("NEARPEAK_LAYER_STREAM");
  return which != nullptr && std::strcmp(which, "legacy") == 0;
}

void* const legacy = nullptr;  // the default stream

void await() { CHECK(cuda("cuStreamSynchronize", legacy) == 0); }

// Work that takes a GPU a millisecond. Both buffers have room for 8 bytes.
void keep_busy(const Buffer& to, const Buffer& from) {
  for (int i = 0; i < 500; ++i)
    CHECK(cuda("cuMemcpyAsync", to.data(), from.data(), std::size_t{8}, legacy) == 0);
}

// Memory that has old data, and new data once the stream has come so far.
class Late {
 public:
  explicit Late(std::size_t bytes) : bytes_(bytes), buffer_('D', bytes), source_('D', bytes) {
    source_.fill(kNew);
    again();
  }
  ~Late() { await(); }
  void again() {
    await();
    buffer_.fill(kOld);
    put();
  }
  void put() const {
    keep_busy(spare_, source_);
    CHECK(cuda("cuMemcpyAsync", buffer_.data(), source_.data(), bytes_, legacy) == 0);
  }
  void* data() const { return buffer_.data(); }

 private:
  std::size_t bytes_;
  Buffer buffer_, source_, spare_{'D', 8};
};

// What is read of late memory by a call.
int seen() { return awaited() ? kNew : kOld; }

const std::size_t lengths[] = {8, 4096, 300000};

void sent() {
  for (const std::size_t bytes : lengths) {
    const int n = static_cast<int>(bytes);
    if (rank == 0) {
      Late late(bytes);
      const auto now = [&](auto function) {
        late.again();
        function(late.data(), n, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
      };
      const auto later = [&](auto function) {
        late.again();
        MPI_Request request;
        function(late.data(), n, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      };
      now(MPI_Send);
      now(MPI_Ssend);
      later(MPI_Isend);
      later(MPI_Issend);
      MPI_Request again;
      MPI_Send_init(late.data(), n, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &again);
      for (const bool all : {false, true}) {
        late.again();
        if (all)
          MPI_Startall(1, &again);
        else
          MPI_Start(&again);
        MPI_Wait(&again, MPI_STATUS_IGNORE);
      }
      MPI_Request_free(&again);
    } else if (rank == 1) {
      for (const char kind : {'H', 'D', 'H', 'D', 'H', 'D'}) {
        Buffer in(kind, bytes);
        MPI_Recv(in.data(), n, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in.has(seen(), bytes));
      }
    }
    barrier();
  }
}

// The stream still reads what a receive overwrites.
void received() {
  for (const std::size_t bytes : lengths) {
    const int n = static_cast<int>(bytes);
    if (rank == 0) {
      Buffer out('D', bytes);
      out.fill(kNew);
      for (int i = 0; i < 4; ++i) MPI_Send(out.data(), n, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
    } else if (rank == 1) {
      Buffer in('D', bytes), kept('D', bytes), spare('D', 8);
      MPI_Request again;
      MPI_Recv_init(in.data(), n, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &again);
      for (int i = 0; i < 4; ++i) {
        in.fill(kOld);
        keep_busy(spare, in);
        CHECK(cuda("cuMemcpyAsync", kept.data(), in.data(), bytes, legacy) == 0);
        MPI_Request request = MPI_REQUEST_NULL;
        if (i == 0) {
          MPI_Recv(in.data(), n, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (i == 1) {
          MPI_Irecv(in.data(), n, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &request);
        } else if (i == 2) {
          MPI_Start(&again);
          MPI_Wait(&again, MPI_STATUS_IGNORE);
        } else {
          MPI_Message one;
          MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &one, MPI_STATUS_IGNORE);
          MPI_Mrecv(in.data(), n, MPI_BYTE, &one, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        await();
        CHECK(in.has(kNew, bytes));
        CHECK(kept.has(awaited() ? kOld : kNew, bytes));
      }
      MPI_Request_free(&again);
    }
    barrier();
  }
}

void collectives() {
  for (const std::size_t bytes : lengths) {
    const int n = static_cast<int>(bytes);
    Late late(bytes);
    Buffer in('D', bytes);
    void* const both = rank == 0 ? late.data() : in.data();
    MPI_Request again;
    MPI_Bcast_init(both, n, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &again);
    for (int i = 0; i < 5; ++i) {
      late.again();
      in.fill(-1);
      MPI_Request request = MPI_REQUEST_NULL;
      if (i == 0) MPI_Bcast(both, n, MPI_BYTE, 0, MPI_COMM_WORLD);
      if (i == 1) MPI_Ibcast(both, n, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
      if (i == 2) MPI_Start(&again);
      if (i == 3) MPI_Allreduce(late.data(), in.data(), n, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
      if (i == 4) MPI_Scan(late.data(), in.data(), n, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
      MPI_Wait(i == 2 ? &again : &request, MPI_STATUS_IGNORE);
      if (rank == 1 || i > 2) CHECK(in.has(seen(), bytes));
    }
    MPI_Request_free(&again);
    barrier();
  }
}

// Where types lead elsewhere than the buffer's address; and where one rank alone gives any.
void led_elsewhere() {
  constexpr int kBytes = 5000;
  Late late(kBytes);
  Buffer in('H', kBytes);
  const int length = kBytes;
  MPI_Aint place;
  MPI_Get_address(late.data(), &place);
  MPI_Datatype type, none{};
  MPI_Type_create_hindexed(1, &length, &place, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  if (rank == 0) MPI_Send(MPI_BOTTOM, 1, type, 1, kTag, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(in.data(), kBytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.has(seen(), kBytes));
  }
  std::memset(&none, 0x55, sizeof(none));  // is no type
  late.again();
  std::vector<unsigned char> all(kBytes * static_cast<std::size_t>(size));
  MPI_Gather(late.data(), kBytes, MPI_BYTE, rank == 0 ? all.data() : nullptr, kBytes,
             rank == 0 ? MPI_BYTE : none, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; ++i)
    CHECK(has_pattern(all.data() + static_cast<std::size_t>(i) * kBytes, 0, kBytes, seen()));
  MPI_Type_free(&type);
}

void packed() {
  constexpr int kBytes = 5000;
  Late late(kBytes);
  Buffer in('H', kBytes);
  int place = 0;
  MPI_Pack(late.data(), kBytes, MPI_BYTE, in.data(), kBytes, &place, MPI_COMM_WORLD);
  in.read();
  CHECK(in.has(seen(), kBytes));
}

// What is put, and what others get of a rank's memory behind each call that lets them.
void windows() {
  constexpr int kBytes = 5000;
  Late late(kBytes);
  Buffer own('D', kBytes), in('H', kBytes);
  MPI_Win put, got;
  MPI_Win_create(own.data(), kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &put);
  MPI_Win_fence(0, put);
  if (rank == 0) MPI_Put(late.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, put);
  MPI_Win_fence(0, put);
  if (rank == 1) CHECK(own.has(seen(), kBytes));
  barrier();
  const int one_more = 1;
  int before = 0, was = 0;
  if (rank == 0) MPI_Fetch_and_op(&one_more, &before, MPI_INT, 1, 0, MPI_SUM, put);
  MPI_Win_fence(0, put);
  if (rank == 0) MPI_Compare_and_swap(&one_more, &before, &was, MPI_INT, 1, 0, put);
  MPI_Win_fence(0, put);
  MPI_Win_free(&put);

  late.again();
  MPI_Win_create(late.data(), kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &got);
  const auto check = [&] {
    in.read();
    CHECK(in.has(seen(), kBytes));
    in.fill(-1);
  };
  MPI_Win_lock_all(0, got);
  for (int i = 0; i < 2; ++i) {  // that was there in MPI_Win_create, and one that is synchronised
    if (i == 1) {
      late.again();
      MPI_Win_sync(got);
      barrier();
    }
    if (rank == 0) {
      MPI_Get(in.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, got);
      MPI_Win_flush(1, got);
      check();
    }
    barrier();
  }
  MPI_Win_unlock_all(got);
  late.again();
  MPI_Win_fence(0, got);
  if (rank == 0) MPI_Get(in.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, got);
  MPI_Win_fence(0, got);
  if (rank == 0) check();
  barrier();
  late.again();
  MPI_Group group, one;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  const int other = 1 - rank;
  if (rank < 2) {
    MPI_Group_incl(group, 1, &other, &one);
    if (rank == 1) {
      MPI_Win_post(one, 0, got);
      MPI_Win_wait(got);
    } else {
      MPI_Win_start(one, 0, got);
      MPI_Get(in.data(), kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, got);
      MPI_Win_complete(got);
      check();
    }
    MPI_Group_free(&one);
  }
  MPI_Group_free(&group);
  barrier();
  await();
  MPI_Win_free(&got);
}

// Work in the stream of another context than that which is current, which stays so.
void of_another_context() {
  constexpr int kBytes = 5000;
  void* before = nullptr;
  CHECK(cuda("cuCtxGetCurrent", &before) == 0);
  if (rank == 0) {
    Late late(kBytes);
    CHECK(cuda("cuCtxSetCurrent", static_cast<void*>(nullptr)) == 0);
    MPI_Send(late.data(), kBytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
    void* now = before;
    CHECK(cuda("cuCtxGetCurrent", &now) == 0 && now == nullptr);
    CHECK(cuda("cuCtxSetCurrent", before) == 0);
  } else if (rank == 1) {
    Buffer in('D', kBytes);
    MPI_Recv(in.data(), kBytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.has(seen(), kBytes));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Cases cases{{"sent", sent},
                    {"received", received},
                    {"collectives", collectives},
                    {"packed", packed},
                    {"led_elsewhere", led_elsewhere},
                    {"windows", windows},
                    {"of_another_context", of_another_context}};
  return run(argc, argv, cases, nothing_first);
}
