// SPDX-License-Identifier: Apache-2.0
#include "app/halo_transfer.hpp"

namespace nearpeak {
namespace {

// All receives before all sends. A message's tag is its number at the sender: a rank may be the
// neighbour in several directions, or its own.
class Isend final : public HaloTransfer {
 public:
  Isend(MPI_Comm comm, const std::vector<HaloMessage>& messages,
        const std::vector<MessageEnds>& ends)
      : comm_(comm), messages_(messages), ends_(ends), requests_(2 * messages.size()) {}

  void run() override {
    MPI_Request* request = requests_.data();
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const MessageEnd& in = ends_[i].in;
      MPI_Irecv(in.data, in.count, in.type, messages_[i].peer, static_cast<int>(messages_[i].other),
                comm_, request++);
    }
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const MessageEnd& out = ends_[i].out;
      MPI_Isend(out.data, out.count, out.type, messages_[i].peer, static_cast<int>(i), comm_,
                request++);
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  MPI_Comm comm_;
  const std::vector<HaloMessage> messages_;
  const std::vector<MessageEnds> ends_;
  std::vector<MPI_Request> requests_;
};

class Persistent final : public HaloTransfer {
 public:
  Persistent(MPI_Comm comm, const std::vector<HaloMessage>& messages,
             const std::vector<MessageEnds>& ends)
      : requests_(2 * messages.size(), MPI_REQUEST_NULL) {
    MPI_Request* request = requests_.data();
    for (std::size_t i = 0; i < ends.size(); ++i)
      MPI_Recv_init(ends[i].in.data, ends[i].in.count, ends[i].in.type, messages[i].peer,
                    static_cast<int>(messages[i].other), comm, request++);
    for (std::size_t i = 0; i < ends.size(); ++i)
      MPI_Send_init(ends[i].out.data, ends[i].out.count, ends[i].out.type, messages[i].peer,
                    static_cast<int>(i), comm, request++);
  }
  ~Persistent() override {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;

  void run() override {
    MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  std::vector<MPI_Request> requests_;
};

class Neighbourhood final : public HaloTransfer {
 public:
  Neighbourhood(MPI_Comm comm, const std::vector<HaloMessage>& messages,
                const std::vector<MessageEnds>& ends) {
    std::vector<int> to;
    std::vector<int> from;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      out_.add(ends[i].out);
      to.push_back(messages[i].peer);
      // What comes from one rank several times comes in the order in which that sends it.
      const std::size_t other = messages[i].other;
      in_.add(ends[other].in);
      from.push_back(messages[other].peer);
    }
    out_.place();
    in_.place();
    const int count = static_cast<int>(ends.size());
    MPI_Dist_graph_create_adjacent(comm, count, from.data(), MPI_UNWEIGHTED, count, to.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_);
  }
  ~Neighbourhood() override { MPI_Comm_free(&comm_); }
  Neighbourhood(const Neighbourhood&) = delete;
  Neighbourhood& operator=(const Neighbourhood&) = delete;

  void run() override {
    MPI_Neighbor_alltoallw(out_.base, out_.counts.data(), out_.starts.data(), out_.types.data(),
                           in_.base, in_.counts.data(), in_.starts.data(), in_.types.data(), comm_);
  }

 private:
  struct Side {
    char* base = nullptr;
    std::vector<char*> all;
    std::vector<int> counts;
    std::vector<MPI_Aint> starts;
    std::vector<MPI_Datatype> types;
    void add(const MessageEnd& end) {
      if (all.empty() || end.data < base) base = end.data;
      all.push_back(end.data);
      counts.push_back(end.count);
      types.push_back(end.type);
    }
    void place() {
      for (const char* const data : all) starts.push_back(data - base);
    }
  };

  Side out_;
  Side in_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

BoxType::BoxType(const HaloBlock& block, const HaloMessage& message, const Box& box,
                 MPI_Datatype cell) {
  const Triple padded = block.padded();
  std::array<int, 4> sizes{static_cast<int>(block.fields)};
  std::array<int, 4> parts{static_cast<int>(message.fields)};
  std::array<int, 4> starts{static_cast<int>(message.first_field)};
  for (const std::size_t i : kDimensions) {
    sizes[i + 1] = static_cast<int>(padded[i]);
    parts[i + 1] = static_cast<int>(box.count[i]);
    starts[i + 1] = static_cast<int>(box.first[i] + block.halo[i]);
  }
  MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), parts.data(),
                           starts.data(), MPI_ORDER_C, cell, &type_);
  MPI_Type_commit(&type_);
}

std::unique_ptr<HaloTransfer> make_halo_transfer(const std::string& exchange, MPI_Comm comm,
                                                 const std::vector<HaloMessage>& messages,
                                                 const std::vector<MessageEnds>& ends) {
  if (exchange == "persistent") return std::make_unique<Persistent>(comm, messages, ends);
  if (exchange == "neighbor") return std::make_unique<Neighbourhood>(comm, messages, ends);
  return std::make_unique<Isend>(comm, messages, ends);
}

}  // namespace nearpeak
