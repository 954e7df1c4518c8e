// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/complete.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "layer/protocol/advance.hpp"
#include "layer/protocol/copy_proxy.hpp"
#include "layer/protocol/offered.hpp"
#include "layer/protocol/probe.hpp"
#include "layer/protocol/requests.hpp"
#include "layer/protocol/slow.hpp"
#include "layer/protocol/taken.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

bool is_collective_again(const Operation& operation) {
  const bool collective = operation.kind == Operation::Kind::kShadowedCall ||
                          operation.kind == Operation::Kind::kBegunCollective;
  return collective && operation.persistent;
}

// The records of the requests of one call, which may be none of them.
class Asked {
 public:
  Asked(int n, const MPI_Request* requests) : n_(n) {
    const auto size = static_cast<std::size_t>(std::max(n, 0));
    if (size > few_.size()) many_.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      at(i) = known(requests[i]);
      if (at(i) == nullptr) {
        strange_ = strange_ || requests[i] != calls::request_null();
        continue;
      }
      any_ = true;
      offered_ = offered_ || at(i)->kind == Operation::Kind::kOfferedSend;
      received_ = received_ || at(i)->kind == Operation::Kind::kPostedReceive;
      collective_again_ = collective_again_ || is_collective_again(*at(i));
    }
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  bool any() const { return any_; }
  // Whether a persistent collective is among them, or may be, as the layer does not know them all.
  bool collective_again() const { return collective_again_ || (strange_ && needs_help()); }
  // Whether the MPI library alone would wait for ever, or make others wait.
  bool needs_help() const { return offered_ || busy(); }
  Operation* operator[](int i) { return at(static_cast<std::size_t>(i)); }

  void help() {
    advance();
    if (offered_) look_at_sends();
    arriving_ = false;
    if (!received_ || !world.far) return;
    for (int i = 0; i < n_; ++i) {
      PostedReceive* const receive = may_get_header(i);
      if (is_few() && receive != nullptr) advance_asked(*receive);
      arriving_ = arriving_ || is_arriving_at(i);
    }
  }
  // Whether of some the MPI library has received the header, or may when it is asked next, and not
  // all parts are there: to it they are complete then, so it must not be asked.
  bool arriving() const { return arriving_; }
  // Whether some are not complete, as far as the layer knows: a receiver has to take a send yet, or
  // no envelope of a receive has come. Of these the MPI library alone knows whether a message has
  // come in the place of an envelope: it is asked at the first look, and at every few later ones.
  bool incomplete() {
    constexpr unsigned kAsk = 8;
    bool receiving = false;
    for (int i = 0; i < n_ && !is_few(); ++i) {
      const Operation* const operation = (*this)[i];
      if (const auto* const send = as<const OfferedSend>(operation); send != nullptr)
        if (!send->complete) return true;
      if (const auto* const receive = as<const PostedReceive>(operation); receive != nullptr) {
        if (receive->persistent) return false;  // its envelope is found by asking alone
        receiving = receiving || !receive->settled;
      }
    }
    return receiving && looks_++ % kAsk != 0;
  }
  bool is_arriving_at(int i) {
    const PostedReceive* const receive = may_get_header(i);
    return receive != nullptr && ((is_few() && !receive->settled) || receive->is_arriving());
  }

 private:
  // At all of them first, and then at a few that are not complete: who looks at a slot has its
  // receiver's CPU fetch it once more.
  void look_at_sends() {
    constexpr int kFew = 8;
    int most = std::exchange(looked_at_sends_, true) ? kFew : n_;
    Now now;
    for (int i = 0; i < n_ && most > 0; ++i) {
      auto* const send = as<OfferedSend>((*this)[next_send_]);
      next_send_ = next_send_ + 1 == n_ ? 0 : next_send_ + 1;
      if (send == nullptr || send->complete) continue;
      advance_awaited(*send, now);
      if (!send->complete) --most;
    }
  }
  // Of more it costs too much to look at each before: the call waits for the parts of one of which
  // the header has come just now.
  bool is_few() const { return n_ <= 16; }
  // The receive, where its message may be a header; else null.
  PostedReceive* may_get_header(int i) {
    auto* const receive = as<PostedReceive>((*this)[i]);
    const bool may = receive != nullptr && receive->started && !receive->persistent &&
                     world.accepts_envelopes.load(std::memory_order_relaxed);
    return may ? receive : nullptr;
  }
  Operation*& at(std::size_t i) { return many_.empty() ? few_[i] : many_[i]; }

  int n_;
  bool any_ = false;
  bool offered_ = false;
  bool received_ = false;
  bool arriving_ = false;
  bool collective_again_ = false;
  bool strange_ = false;
  bool looked_at_sends_ = false;
  int next_send_ = 0;
  unsigned looks_ = 0;
  std::array<Operation*, 16> few_{};
  std::vector<Operation*> many_;
};

// Statuses of the layer's own, where the application wants none.
class Statuses {
 public:
  Statuses(int n, MPI_Status* given) : given_(given), asked_for_(given != MPI_STATUSES_IGNORE) {
    if (asked_for_) return;
    given_ = few_.data();
    if (n <= static_cast<int>(few_.size())) return;
    many_.resize(static_cast<std::size_t>(n));
    given_ = many_.data();
  }
  Statuses(const Statuses&) = delete;
  Statuses& operator=(const Statuses&) = delete;

  MPI_Status* data() { return given_; }
  MPI_Status& operator[](int i) { return given_[i]; }
  bool asked_for() const { return asked_for_; }

 private:
  MPI_Status* given_;
  bool asked_for_;
  std::array<MPI_Status, 16> few_;
  std::vector<MPI_Status> many_;
};

// The requests of a call but for those that are arriving, for a call that gives some of them back.
class Others {
 public:
  Others(Asked& asked, int n, const MPI_Request* requests) {
    if (!asked.arriving()) return;
    some_.assign(requests, requests + n);
    for (int i = 0; i < n; ++i)
      if (asked.is_arriving_at(i)) some_[static_cast<std::size_t>(i)] = calls::request_null();
  }
  // What the MPI library is asked after.
  template <typename Request>
  Request* of(Request* requests) {
    return some_.empty() ? requests : some_.data();
  }
  // It has given these back.
  void give_back(MPI_Request* requests, int count, const int* which) const {
    if (some_.empty()) return;
    for (int i = 0; i < count; ++i) requests[which[i]] = some_[static_cast<std::size_t>(which[i])];
  }

 private:
  std::vector<MPI_Request> some_;
};

// One request was completed, with this code.
int end_one(Operation* operation, MPI_Status& status, int code) {
  if (operation == nullptr) return code;
  const MPI_Comm comm = operation->comm_freed ? calls::comm_world() : operation->comm;
  const int error = finished(*operation, status, code);
  return code == MPI_SUCCESS && error != MPI_SUCCESS ? raise(comm, error) : error;
}

// Several were, `count` of them, with a status each: those with these numbers, or the first ones.
int end_several(Asked& asked, Statuses& statuses, int count, const int* which, int code) {
  const bool each = class_of(code) == MPI_ERR_IN_STATUS;
  if (code != MPI_SUCCESS && !each) return code;
  MPI_Comm comm = calls::comm_world();
  bool wrong = false;
  // Their copies are under way together.
  for (int i = 0; i < count && !each; ++i)
    if (Operation* const operation = asked[which == nullptr ? i : which[i]])
      settle(*operation, statuses[i]);
  for (int i = 0; i < count; ++i) {
    MPI_Status& status = statuses[i];
    const int before = each ? status.MPI_ERROR : MPI_SUCCESS;
    int error = before;
    Operation* const operation = asked[which == nullptr ? i : which[i]];
    if (operation != nullptr && class_of(before) != MPI_ERR_PENDING) {
      const MPI_Comm own = operation->comm_freed ? calls::comm_world() : operation->comm;
      error = finished(*operation, status, before, statuses.asked_for());
      if (error != before && !wrong && !each) {  // the first: none had an error before
        for (int j = 0; j < i; ++j) statuses[j].MPI_ERROR = MPI_SUCCESS;
        wrong = true;
        comm = own;
      }
    }
    if (wrong || each) status.MPI_ERROR = error;
  }
  return wrong ? raise(comm, MPI_ERR_IN_STATUS) : code;
}

// Calls that ask: one try of each. The guard is held while they do, as another thread's advance()
// may look at the same requests.

int try_one(Asked& asked, MPI_Request* request, int* flag, MPI_Status& status) {
  asked.help();
  *flag = 0;
  if (asked.arriving()) return MPI_SUCCESS;
  const int code = NEARPEAK_REAL(MPI_Test)(request, flag, &status);
  return code != MPI_SUCCESS || *flag != 0 ? end_one(asked[0], status, code) : code;
}

int try_all(Asked& asked, int n, MPI_Request* requests, int* flag, Statuses& statuses) {
  asked.help();
  *flag = 0;
  if (asked.arriving()) return MPI_SUCCESS;
  // Of many requests that are not all complete the library would look at each.
  if (asked.incomplete()) {
    if (!looks_for_envelopes()) have_library_go_on();  // else it has
    return MPI_SUCCESS;
  }
  const int code = NEARPEAK_REAL(MPI_Testall)(n, requests, flag, statuses.data());
  if (code == MPI_SUCCESS && *flag == 0) return code;
  return end_several(asked, statuses, n, nullptr, code);
}

int try_any(Asked& asked, int n, MPI_Request* requests, int* which, int* flag, MPI_Status& status) {
  asked.help();
  Others others(asked, n, requests);
  const int code = NEARPEAK_REAL(MPI_Testany)(n, others.of(requests), which, flag, &status);
  if (*which == MPI_UNDEFINED && asked.arriving()) *flag = 0;
  if ((code == MPI_SUCCESS && *flag == 0) || *which == MPI_UNDEFINED) return code;
  others.give_back(requests, 1, which);
  return end_one(asked[*which], status, code);
}

int try_some(Asked& asked, int n, MPI_Request* requests, int* done, int* which,
             Statuses& statuses) {
  asked.help();
  Others others(asked, n, requests);
  const int code =
      NEARPEAK_REAL(MPI_Testsome)(n, others.of(requests), done, which, statuses.data());
  if (*done == MPI_UNDEFINED && asked.arriving()) *done = 0;
  if (*done == MPI_UNDEFINED || *done <= 0) return code;
  others.give_back(requests, *done, which);
  return end_several(asked, statuses, *done, which, code);
}

}  // namespace

int wait(MPI_Request* request, MPI_Status* status) {
  MPI_Status own;
  MPI_Status& told = status == MPI_STATUS_IGNORE ? own : *status;
  InLibrary in_library;
  Waiting pause;
  for (int flag = 0;; pause()) {
    const Guard guard;
    Asked asked(1, request);
    const bool helps = asked.needs_help();
    if (!helps && !asked.any()) {
      in_library.begin();
      break;
    }
    if (!helps && !world.multiple) {
      const int code = NEARPEAK_REAL(MPI_Wait)(request, &told);
      return end_one(asked[0], told, code);
    }
    // Not in the MPI library, where several threads call it: it may give the handle to another
    // thread before this one has dropped the record.
    const int code = try_one(asked, request, &flag, told);
    if (code != MPI_SUCCESS || flag != 0) return code;
  }
  pause.end();
  return NEARPEAK_REAL(MPI_Wait)(request, status);
}

namespace {

// One after the other.
int wait_each(int n, MPI_Request* requests, MPI_Status* statuses) {
  Statuses told(n, statuses);
  int code = MPI_SUCCESS;
  for (int i = 0; i < n; ++i) {
    const int error = wait(&requests[i], &told[i]);
    told[i].MPI_ERROR = error;
    if (error != MPI_SUCCESS) code = MPI_ERR_IN_STATUS;
  }
  return code;
}

}  // namespace

int wait_all(int n, MPI_Request* requests, MPI_Status* statuses) {
  bool by_one = false;
  std::optional<Asked> asked;
  std::optional<Statuses> told;
  InLibrary in_library;
  Waiting pause;
  for (int flag = 0;; pause()) {
    const Guard guard;
    // Another thread may give a handle again meanwhile.
    if (!asked || world.multiple) asked.emplace(n, requests);
    const bool helps = asked->needs_help();
    if (!helps && !asked->any()) {
      in_library.begin();
      break;
    }
    if (!told) told.emplace(n, statuses);
    if (!helps && !world.multiple) {
      const int code = NEARPEAK_REAL(MPI_Waitall)(n, requests, told->data());
      return end_several(*asked, *told, n, nullptr, code);
    }
    // MPI_Testall of MPICH 5.0.2 says that these failed.
    by_one = asked->collective_again();
    if (by_one) break;
    const int code = try_all(*asked, n, requests, &flag, *told);
    if (code != MPI_SUCCESS || flag != 0) return code;
  }
  pause.end();
  if (by_one) return wait_each(n, requests, statuses);
  return NEARPEAK_REAL(MPI_Waitall)(n, requests, statuses);
}

int wait_any(int n, MPI_Request* requests, int* which, MPI_Status* status) {
  MPI_Status own;
  MPI_Status& told = status == MPI_STATUS_IGNORE ? own : *status;
  InLibrary in_library;
  Waiting pause;
  for (int flag = 0;; pause()) {
    const Guard guard;
    Asked asked(n, requests);
    if (!asked.needs_help() && !asked.any()) {
      in_library.begin();
      break;
    }
    const int code = try_any(asked, n, requests, which, &flag, told);
    if (code != MPI_SUCCESS || flag != 0) return code;
  }
  pause.end();
  return NEARPEAK_REAL(MPI_Waitany)(n, requests, which, status);
}

int wait_some(int n, MPI_Request* requests, int* done, int* which, MPI_Status* statuses) {
  InLibrary in_library;
  Waiting pause;
  for (;; pause()) {
    const Guard guard;
    Asked asked(n, requests);
    if (!asked.needs_help() && !asked.any()) {
      in_library.begin();
      break;
    }
    Statuses told(n, statuses);
    const int code = try_some(asked, n, requests, done, which, told);
    if (code != MPI_SUCCESS || *done != 0) return code;
  }
  pause.end();
  return NEARPEAK_REAL(MPI_Waitsome)(n, requests, done, which, statuses);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  const Guard guard;
  Asked asked(1, request);
  if (!asked.any() && !asked.needs_help()) return NEARPEAK_REAL(MPI_Test)(request, flag, status);
  MPI_Status own;
  return try_one(asked, request, flag, status == MPI_STATUS_IGNORE ? own : *status);
}

int test_all(int n, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  const Guard guard;
  Asked asked(n, requests);
  if (!asked.any() && !asked.needs_help())
    return NEARPEAK_REAL(MPI_Testall)(n, requests, flag, statuses);
  Statuses told(n, statuses);
  return try_all(asked, n, requests, flag, told);
}

int test_any(int n, MPI_Request* requests, int* which, int* flag, MPI_Status* status) {
  const Guard guard;
  Asked asked(n, requests);
  if (!asked.any() && !asked.needs_help())
    return NEARPEAK_REAL(MPI_Testany)(n, requests, which, flag, status);
  MPI_Status own;
  return try_any(asked, n, requests, which, flag, status == MPI_STATUS_IGNORE ? own : *status);
}

int test_some(int n, MPI_Request* requests, int* done, int* which, MPI_Status* statuses) {
  const Guard guard;
  Asked asked(n, requests);
  if (!asked.any() && !asked.needs_help())
    return NEARPEAK_REAL(MPI_Testsome)(n, requests, done, which, statuses);
  Statuses told(n, statuses);
  return try_some(asked, n, requests, done, which, told);
}

namespace {

void note(Operation* operation, MPI_Status& status) {
  if (operation != nullptr) note_complete(*operation, status);
}

}  // namespace

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const Guard guard;
  Asked asked(1, &request);
  asked.help();
  MPI_Status own;
  MPI_Status& told = status == MPI_STATUS_IGNORE ? own : *status;
  *flag = 0;
  if (asked.arriving()) return MPI_SUCCESS;
  const int code = NEARPEAK_REAL(MPI_Request_get_status)(request, flag, &told);
  if (code == MPI_SUCCESS && *flag != 0) note(asked[0], told);
  return code;
}

#if NEARPEAK_MPI_LEVEL >= 41
int get_status_all(int n, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  const Guard guard;
  Asked asked(n, requests);
  asked.help();
  *flag = 0;
  if (asked.arriving()) return MPI_SUCCESS;
  Statuses told(n, statuses);
  const int code = NEARPEAK_REAL(MPI_Request_get_status_all)(n, requests, flag, told.data());
  if (code == MPI_SUCCESS && *flag != 0)
    for (int i = 0; i < n; ++i) note(asked[i], told[i]);
  return code;
}

int get_status_any(int n, const MPI_Request* requests, int* which, int* flag, MPI_Status* status) {
  const Guard guard;
  Asked asked(n, requests);
  asked.help();
  MPI_Status own;
  MPI_Status& told = status == MPI_STATUS_IGNORE ? own : *status;
  Others others(asked, n, requests);
  const int code =
      NEARPEAK_REAL(MPI_Request_get_status_any)(n, others.of(requests), which, flag, &told);
  if (*which == MPI_UNDEFINED && asked.arriving()) *flag = 0;
  if (code == MPI_SUCCESS && *flag != 0 && *which != MPI_UNDEFINED) note(asked[*which], told);
  return code;
}

int get_status_some(int n, const MPI_Request* requests, int* done, int* which,
                    MPI_Status* statuses) {
  const Guard guard;
  Asked asked(n, requests);
  asked.help();
  Statuses told(n, statuses);
  Others others(asked, n, requests);
  const int code =
      NEARPEAK_REAL(MPI_Request_get_status_some)(n, others.of(requests), done, which, told.data());
  if (*done == MPI_UNDEFINED && asked.arriving()) *done = 0;
  if (code == MPI_SUCCESS && *done != MPI_UNDEFINED)
    for (int i = 0; i < *done; ++i) note(asked[which[i]], told[i]);
  return code;
}
#endif

int free_of_application(MPI_Request* request) {
  const Guard guard;
  Operation* const operation = known(*request);
  if (operation == nullptr) return NEARPEAK_REAL(MPI_Request_free)(request);
  free_request(*operation);
  *request = calls::request_null();
  return MPI_SUCCESS;
}

namespace {

// Before a persistent operation is started.
void prepare(PostedReceive& receive) {
  check_not_held(receive.origin);
  make_ready(receive);
  Target& target = receive.target;
  // Its address may be another allocation's since.
  if (target.on_device)
    target.place = world.devices.locate(find(target.data, target.n, target.type));
}
void prepare(StagedSend& send) {
  const Copies copies;
  const Located place = world.devices.locate(send.data);
  note_slow(Hindrance::kPersistent, send.receiver, place, send.bytes);
  copy_to_host(place, send.memory.get(), send.data, send.bytes);
  ++world.counts.staged_sends;
  copies.note(End::kSent, Route::kThroughHost, send.bytes);
}
void prepare(ShadowedCall& call) {
  for (HostShadow& shadow : call.shadows) shadow.fill();
  ++world.counts.shadowed_calls;
}
void prepare(Operation* operation) {
  if (auto* const receive = as<PostedReceive>(operation)) prepare(*receive);
  if (auto* const receive = as<ShortReceive>(operation)) check_not_held(receive->origin);
  if (auto* const send = as<StagedSend>(operation)) prepare(*send);
  if (auto* const call = as<ShadowedCall>(operation)) prepare(*call);
}

// Open MPI starts a new request where the message before, of a buffered send, is still in the
// buffer, and gives its handle.
void note_started(Operation* operation, MPI_Request request) {
  if (operation == nullptr) return;
  keep_by(*operation, request);
  operation->started = true;
  if (auto* const receive = as<PostedReceive>(operation)) open_receive(*receive);
  if (auto* const call = as<ShadowedCall>(operation)) call->written_back = false;
  operation->note_start();
}

}  // namespace

int start(MPI_Request* request) {
  const Guard guard;
  Operation* const operation = known(*request);
  prepare(operation);
  const int code = NEARPEAK_REAL(MPI_Start)(request);
  if (code == MPI_SUCCESS) note_started(operation, *request);
  return code;
}

int start_all(int n, MPI_Request* requests) {
  const Guard guard;
  std::vector<Operation*> operations;
  for (int i = 0; i < n; ++i) {
    operations.push_back(known(requests[i]));
    prepare(operations.back());
  }
  const int code = NEARPEAK_REAL(MPI_Startall)(n, requests);
  if (code != MPI_SUCCESS) return code;
  for (int i = 0; i < n; ++i) note_started(operations[static_cast<std::size_t>(i)], requests[i]);
  return code;
}

}  // namespace nearpeak::layer
