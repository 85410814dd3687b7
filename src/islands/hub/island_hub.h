// SPDX-License-Identifier: Apache-2.0
// The hub's side of the conversation, without sockets, threads or clocks: a message and the time
// come in, messages go out. It knows which islands are there, and by which connection. Whatever is
// wrong with a message, only its sender is told.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "islands/hub/first_state.h"
#include "islands/hub/hub_record.h"
#include "islands/hub/hub_run.h"
#include "islands/hub/message.h"
#include "islands/hub/transfer.h"

namespace tessera {

struct HubOptions {
  double patience_seconds = 60;  // after the first change of an exchange, until it closes
  double silence_seconds = 10;   // after which an island that is not heard counts as gone
  double most_state_bytes = 1e18;
  bool saves_beside = false;  // by a thread of its own, while islands are heard and answered
};

struct HubReply {
  std::string to;  // a connection
  Message message;
};

class IslandHub {
 public:
  // `store` may be null: then nothing outlives the process. Both must outlive the hub.
  IslandHub(HubOptions options, HubStore* store, HubRecord& record, double now);

  // `user`: whom the sender's key belongs to; empty: keys are not used.
  std::vector<HubReply> take(const std::string& from, const std::string& user,
                             const Message& message, double now);
  // For every quarter of a second or so: who has gone silent, which exchange has waited enough.
  std::vector<HubReply> look(double now);

  const HubRun& run() const { return run_; }
  bool everyone_has_left() const { return any_joined_ && joined_.empty(); }

 private:
  struct Joined {
    std::string connection = {}, life = {};  // empty: expected, and not yet heard
    double heard = 0;
    int64_t step = 0, tokens = 0;
    double loss = 0;
    ExchangeId first = {};  // that it may still send
    bool sits_out = false;  // until an exchange closes: what it has starts from other weights
    std::map<ExchangeId, IncomingBlob> changes = {};
  };

  void reply(const std::string& to, Message message);
  Joined* find(const std::string& from, int64_t island);
  void hear(Joined& island, const Message& message, double now);
  void greet(const std::string& from, const Message& hello, double now);
  std::string refusal(const Message& hello) const;
  void admit(const std::string& from, const Message& hello, double now);
  void take_first_piece(const std::string& from, const Message& piece, double now);
  void take_change_piece(Joined& island, const Message& piece, double now);
  void answer_question(const Joined& island, const Message& question);
  int64_t bytes_of_change(int64_t island, const Joined& joined, ExchangeId exchange) const;
  void close_exchanges(double now);
  void record_round(const HubRun::Closed& closed);
  void let_go(int64_t island, const std::string& kind, const std::string& why);

  HubOptions options_;
  HubRecord& record_;
  HubRun run_;
  std::optional<FirstState> first_;  // while it comes
  std::map<int64_t, Joined> joined_;
  int64_t tokens_of_others_ = 0;  // of islands that left
  bool any_joined_ = false;
  std::vector<HubReply> replies_;
};

}  // namespace tessera
