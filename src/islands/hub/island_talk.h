// SPDX-License-Identifier: Apache-2.0
// An island's side of the conversation with the hub, without sockets, threads or clocks: what
// training wants, messages and the time come in; messages, outcomes and sentences go out. After a
// loss it says hello again, and sends again what may be lost; see Message::first_round.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "islands/hub/blob_traffic.h"
#include "islands/hub/island_settings.h"
#include "islands/hub/message.h"
#include "islands/island_link.h"

namespace tessera {

struct IslandTalkOptions {
  int island = 0;
  std::string life = {};  // of this process
  IslandSettings settings = {};
  double silence_seconds = 10;  // after which the hub counts as away
  double sign_seconds = 1;      // between signs of life
};

class IslandTalk {
 public:
  IslandTalk(IslandTalkOptions options, double now);

  // What training wants.
  void join(const OuterSnapshot& first);
  void send(FragmentChange change);
  void ask_newest();
  void drop(ExchangeId exchange);  // it is no longer of interest
  void report(int64_t step, double loss, int64_t tokens);
  Message farewell() const;

  // What came of it.
  bool has_joined() const { return joined_; }
  const std::string& refused() const { return refused_; }  // why; empty: it was not
  struct Outcome {
    bool closed_without = false;
    CombinedChange combined = {};
  };
  std::optional<Outcome> take_outcome(ExchangeId exchange);
  std::optional<OuterSnapshot> take_newest();
  bool hub_is_away(double now) const;

  // The conversation.
  void hear(const Message& message, double now);
  std::vector<Message> speak(double now);
  std::vector<std::string> take_sentences() { return std::exchange(sentences_, {}); }

 private:
  enum class Phase : uint8_t { Silent, Greeting, Welcomed };

  Message hello() const;
  Message own(MessageKind kind) const;
  void say(std::string sentence);
  void hear_welcome(const Message& message, double now);
  void hear_ready(const Message& message);
  void hear_closed(const Message& message);
  void hear_part(const Message& message);
  void hear_refusal(const Message& message, double now);
  void begin_newest(const Message& ready);
  void want_next_part_of_newest();
  void finish_newest();
  void greet_again(double now);
  void hear_open(const Message& message);
  ExchangeId first_offered() const;
  void offer_after(ExchangeId exchange);
  void begin_transfers_again();
  struct PiecesUnderWay {
    size_t up = 0, down = 0;
  };
  PiecesUnderWay pieces_under_way() const;
  bool has_sent_first_state() const;
  void repeat_transfers();
  void add_transfers(std::vector<Message>& messages);
  void add_signs(std::vector<Message>& messages);

  struct Newest {
    bool asked = false;
    std::string name = {};
    OuterSnapshot state = {};
    std::vector<int64_t> rounds = {};
    std::optional<Download> download = {};
    bool done = false;
  };

  IslandTalkOptions options_;
  Phase phase_ = Phase::Silent;
  std::optional<OuterSnapshot> first_;  // until it has joined
  std::string first_digest_, hub_life_, refused_, last_sentence_;
  std::vector<int64_t> state_bytes_;
  bool joined_ = false, was_away_ = false;
  int64_t step_ = 0, tokens_ = 0;
  double loss_ = 0;
  double heard_, moved_, next_hello_ = 0, next_sign_ = 0;
  std::vector<int64_t> bases_;  // by fragment: the round that was applied last
  ExchangeId next_offered_;     // after all that were sent or dropped
  std::map<std::pair<BlobKind, int64_t>, Upload> first_uploads_;
  std::map<ExchangeId, Upload> changes_;
  std::map<ExchangeId, std::pair<Download, std::vector<int>>> combined_;
  std::map<ExchangeId, Outcome> outcomes_;
  std::optional<Newest> newest_;
  std::vector<std::string> sentences_;
};

}  // namespace tessera
