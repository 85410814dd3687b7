// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/island_talk.h"

#include <algorithm>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"
#include "islands/hub/first_state.h"

namespace tessera {
namespace {

ExchangeId named_exchange(const Message& message) {
  return {.round = message.round, .fragment = static_cast<int>(message.fragment)};
}

}  // namespace

IslandTalk::IslandTalk(IslandTalkOptions options, double now)
    : options_(std::move(options)), heard_(now), moved_(now) {}

void IslandTalk::say(std::string sentence) {
  if (sentence == last_sentence_) return;
  last_sentence_ = sentence;
  sentences_.push_back(std::move(sentence));
}

void IslandTalk::join(const OuterSnapshot& first) {
  first_ = first;
  first_digest_ = digest_of(first);
  for (const std::vector<std::byte>& fragment : first.parameters)
    state_bytes_.push_back(static_cast<int64_t>(fragment.size()));
  bases_.assign(state_bytes_.size(), -1);
  next_offered_ = first.next;
  phase_ = Phase::Greeting;
}

ExchangeId IslandTalk::first_offered() const {
  return changes_.empty() ? next_offered_ : std::min(changes_.begin()->first, next_offered_);
}

void IslandTalk::offer_after(ExchangeId exchange) {
  next_offered_ = std::max(next_offered_, exchange.after(static_cast<int>(state_bytes_.size())));
}

void IslandTalk::send(FragmentChange change) {
  Message about = own(MessageKind::Piece);
  about.blob = BlobKind::Change;
  about.round = change.exchange.round;
  about.fragment = change.exchange.fragment;
  about.base = bases_[static_cast<size_t>(change.exchange.fragment)];
  offer_after(change.exchange);
  changes_.insert_or_assign(change.exchange, Upload(about, std::move(change.bytes)));
}

void IslandTalk::ask_newest() {
  newest_ = Newest{.asked = true};
  next_sign_ = 0;
}

void IslandTalk::drop(ExchangeId exchange) {
  changes_.erase(exchange);
  combined_.erase(exchange);
  outcomes_.erase(exchange);
  offer_after(exchange);
  next_sign_ = 0;
}

void IslandTalk::report(int64_t step, double loss, int64_t tokens) {
  step_ = step;
  loss_ = loss;
  tokens_ = tokens;
}

Message IslandTalk::own(MessageKind kind) const {
  return {.kind = kind,
          .island = options_.island,
          .life = options_.life,
          .first_round = first_offered().round,
          .first_fragment = first_offered().fragment,
          .step = step_,
          .tokens = tokens_,
          .loss = loss_};
}

Message IslandTalk::farewell() const { return own(MessageKind::Leave); }

Message IslandTalk::hello() const {
  Message message = own(MessageKind::Hello);
  message.settings = to_texts(options_.settings);
  message.state_bytes = state_bytes_;
  if (joined_) {
    message.text = hub_life_;
    return message;
  }
  message.digest = first_digest_;
  message.round = first_->next.round;
  message.fragment = first_->next.fragment;
  return message;
}

std::optional<IslandTalk::Outcome> IslandTalk::take_outcome(ExchangeId exchange) {
  const auto found = outcomes_.find(exchange);
  if (found == outcomes_.end()) return std::nullopt;
  Outcome outcome = std::move(found->second);
  if (!outcome.closed_without) bases_[static_cast<size_t>(exchange.fragment)] = exchange.round;
  // Exchanges are over in their order.
  outcomes_.erase(outcomes_.begin(), std::next(found));
  return outcome;
}

std::optional<OuterSnapshot> IslandTalk::take_newest() {
  if (!newest_ || !newest_->done) return std::nullopt;
  OuterSnapshot state = std::move(newest_->state);
  newest_.reset();
  return state;
}

bool IslandTalk::hub_is_away(double now) const {
  return now - heard_ > options_.silence_seconds ||
         (joined_ && phase_ != Phase::Welcomed && was_away_);
}

void IslandTalk::hear(const Message& message, double now) {
  heard_ = now;
  switch (message.kind) {
    case MessageKind::Unknown:
      if (phase_ == Phase::Welcomed) greet_again(now);
      return;
    case MessageKind::Welcome:
      return hear_welcome(message, now);
    case MessageKind::Wait:
      if (!joined_) say("waits to join: " + message.text);
      next_hello_ = now + options_.sign_seconds;
      return;
    case MessageKind::Refused:
      return hear_refusal(message, now);
    case MessageKind::Taken:
      moved_ = now;
      if (message.blob != BlobKind::Change) {
        if (const auto found = first_uploads_.find({message.blob, message.fragment});
            found != first_uploads_.end())
          found->second.acknowledge(message.offset);
      } else if (const auto found = changes_.find(named_exchange(message));
                 found != changes_.end()) {
        found->second.acknowledge(message.offset);
      }
      return;
    case MessageKind::Open:
      return hear_open(message);
    case MessageKind::Ready:
      return hear_ready(message);
    case MessageKind::Closed:
      return hear_closed(message);
    case MessageKind::Part:
      moved_ = now;
      return hear_part(message);
    default:
      return;
  }
}

// Another hub, or this one after it forgot us: what it has of ours is not known.
void IslandTalk::greet_again(double now) {
  phase_ = Phase::Greeting;
  next_hello_ = now;
}

void IslandTalk::begin_transfers_again() {
  for (auto& [name, upload] : first_uploads_) upload.begin_again();
  for (auto& [exchange, upload] : changes_) upload.begin_again();
  for (auto& [exchange, each] : combined_) each.first.repeat();
  if (newest_ && !newest_->done) newest_ = Newest{.asked = true};
}

// The hub has all of it, but its answer was lost.
bool IslandTalk::has_sent_first_state() const {
  return !joined_ && !first_uploads_.empty() &&
         std::ranges::all_of(first_uploads_, [](const auto& each) { return each.second.done(); });
}

void IslandTalk::repeat_transfers() {
  for (auto& [name, upload] : first_uploads_) upload.repeat();
  for (auto& [exchange, upload] : changes_) upload.repeat();
  for (auto& [exchange, each] : combined_) each.first.repeat();
  if (newest_ && newest_->download) newest_->download->repeat();
}

void IslandTalk::hear_welcome(const Message& message, double now) {
  moved_ = now;
  next_sign_ = now;
  phase_ = Phase::Welcomed;
  if (was_away_) say("the hub is back");
  was_away_ = false;
  hub_life_ = message.life;
  if (joined_) return begin_transfers_again();
  if (message.text == "found") {
    first_uploads_.clear();
    const auto add = [&](BlobKind kind, const std::vector<std::vector<std::byte>>& fragments) {
      for (size_t f = 0; f < fragments.size(); ++f) {
        Message about = own(MessageKind::Piece);
        about.blob = kind;
        about.fragment = static_cast<int64_t>(f);
        first_uploads_.try_emplace({kind, about.fragment}, about, fragments[f]);
      }
    };
    add(BlobKind::Parameters, first_->parameters);
    add(BlobKind::Momentum, first_->momentum);
  } else if (message.text == "begin" && message.rounds.size() == bases_.size()) {
    bases_ = message.rounds;
    joined_ = true;
    first_.reset();
    first_uploads_.clear();
  } else if (!newest_ || !newest_->done) {
    ask_newest();
  }
}

void IslandTalk::hear_refusal(const Message& message, double now) {
  if (!joined_) {
    refused_ = message.text;
    return;
  }
  say("the hub refuses this island, which goes on alone: " + message.text);
  was_away_ = true;
  phase_ = Phase::Greeting;
  next_hello_ = now + options_.silence_seconds;
}

// The exchange is not closed yet; its size is what the hub has of this island's change.
void IslandTalk::hear_open(const Message& message) {
  const auto found = changes_.find(named_exchange(message));
  if (found != changes_.end() && found->second.done() && message.size < found->second.bytes())
    found->second.begin_again();
}

void IslandTalk::hear_ready(const Message& message) {
  if (message.blob == BlobKind::Parameters) return begin_newest(message);
  const ExchangeId exchange = named_exchange(message);
  const auto fragment = static_cast<size_t>(message.fragment);
  if (!changes_.contains(exchange) || combined_.contains(exchange) ||
      outcomes_.contains(exchange) || fragment >= state_bytes_.size())
    return;
  const WireFormat& format = options_.settings.format;
  if (message.size != format.bytes(state_bytes_[fragment] / size_bytes(format.dtype)))
    throw user_error("the hub offers a combined change of another size")
        .help("use the same version of tessera for all islands and their hub");
  Message wanted = own(MessageKind::Fetch);
  wanted.blob = BlobKind::Combined;
  wanted.round = exchange.round;
  wanted.fragment = exchange.fragment;
  combined_.try_emplace(exchange, Download(wanted, message.size, message.digest),
                        std::vector<int>(message.islands.begin(), message.islands.end()));
}

void IslandTalk::hear_closed(const Message& message) {
  if (message.blob == BlobKind::Parameters || message.blob == BlobKind::Momentum) {
    if (newest_ && !newest_->done) newest_ = Newest{.asked = true};
    return;
  }
  const ExchangeId exchange = named_exchange(message);
  if (!changes_.contains(exchange) || outcomes_.contains(exchange)) return;
  changes_.erase(exchange);
  combined_.erase(exchange);
  outcomes_[exchange].closed_without = true;
}

void IslandTalk::hear_part(const Message& message) {
  if (newest_ && newest_->download && message.text == newest_->name && !message.text.empty()) {
    newest_->download->add(message);
    if (newest_->download->done()) finish_newest();
    return;
  }
  const auto found = combined_.find(named_exchange(message));
  if (message.blob != BlobKind::Combined || found == combined_.end()) return;
  Download& download = found->second.first;
  download.add(message);
  if (!download.done()) return;
  const ExchangeId exchange = found->first;
  outcomes_[exchange].combined = {
      .exchange = exchange, .islands = std::move(found->second.second), .bytes = download.take()};
  combined_.erase(found);
  changes_.erase(exchange);
}

void IslandTalk::begin_newest(const Message& ready) {
  if (!newest_ || newest_->done || newest_->name == ready.text) return;
  *newest_ = {.asked = true, .name = ready.text, .rounds = ready.rounds};
  newest_->state.next = named_exchange(ready);
  if (newest_->rounds.size() != state_bytes_.size())
    throw user_error("the hub has another number of fragments")
        .help("use the same version of tessera for all islands and their hub");
  want_next_part_of_newest();
}

// Parameters of all fragments, then the momentum of all.
void IslandTalk::want_next_part_of_newest() {
  OuterSnapshot& state = newest_->state;
  const bool parameters = state.parameters.size() < state_bytes_.size();
  const size_t fragment = (parameters ? state.parameters : state.momentum).size();
  Message wanted = own(MessageKind::Fetch);
  wanted.blob = parameters ? BlobKind::Parameters : BlobKind::Momentum;
  wanted.fragment = static_cast<int64_t>(fragment);
  wanted.text = newest_->name;
  newest_->download.emplace(wanted, state_bytes_[fragment], "");
}

void IslandTalk::finish_newest() {
  OuterSnapshot& state = newest_->state;
  const bool parameters = newest_->download->wanted().blob == BlobKind::Parameters;
  (parameters ? state.parameters : state.momentum).push_back(newest_->download->take());
  newest_->download.reset();
  const bool nesterov = options_.settings.outer.optimizer == OuterOptimizer::Nesterov;
  if (state.parameters.size() < state_bytes_.size() ||
      (nesterov && state.momentum.size() < state_bytes_.size()))
    return want_next_part_of_newest();
  bases_ = newest_->rounds;
  next_offered_ = joined_ ? std::max(next_offered_, state.next) : state.next;
  newest_->done = true;
  changes_.clear();
  combined_.clear();
  outcomes_.clear();
  joined_ = true;
  first_.reset();
}

std::vector<Message> IslandTalk::speak(double now) {
  std::vector<Message> messages;
  if (phase_ == Phase::Silent) return messages;
  if (now - heard_ > options_.silence_seconds && !was_away_) {
    was_away_ = true;
    phase_ = Phase::Greeting;
    say(joined_ ? fmt::format("the hub has not been heard for {:.0f} s: this island goes on alone",
                              options_.silence_seconds)
                : std::string("waits for the hub, which does not answer"));
  }
  if (phase_ == Phase::Greeting) {
    if (now < next_hello_) return messages;
    next_hello_ = now + options_.sign_seconds;
    messages.push_back(hello());
    return messages;
  }
  if (const PiecesUnderWay count = pieces_under_way();
      count.up + count.down == 0 && !has_sent_first_state())
    moved_ = now;
  if (now - moved_ > options_.silence_seconds) {
    // The hub is heard, but nothing moves: something was lost on the way.
    moved_ = now;
    if (has_sent_first_state())
      greet_again(now);
    else
      repeat_transfers();
  }
  add_transfers(messages);
  if (now >= next_sign_) {
    next_sign_ = now + options_.sign_seconds;
    add_signs(messages);
  }
  return messages;
}

IslandTalk::PiecesUnderWay IslandTalk::pieces_under_way() const {
  PiecesUnderWay count;
  for (const auto& [name, upload] : first_uploads_) count.up += upload.under_way();
  for (const auto& [exchange, upload] : changes_) count.up += upload.under_way();
  for (const auto& [exchange, each] : combined_) count.down += each.first.under_way();
  if (newest_ && newest_->download) count.down += newest_->download->under_way();
  return count;
}

// The oldest exchange first: training waits for that one.
void IslandTalk::add_transfers(std::vector<Message>& messages) {
  PiecesUnderWay under_way = pieces_under_way();
  const auto add_all = [&](size_t& count, auto&& next) {
    while (count < kPiecesUnderWay) {
      std::optional<Message> message = next();
      if (!message) return;
      messages.push_back(std::move(*message));
      ++count;
    }
  };
  for (auto& each : first_uploads_) add_all(under_way.up, [&] { return each.second.next_piece(); });
  for (auto& each : changes_) add_all(under_way.up, [&] { return each.second.next_piece(); });
  for (auto& each : combined_)
    add_all(under_way.down, [&] { return each.second.first.next_request(); });
  if (newest_ && newest_->download)
    add_all(under_way.down, [&] { return newest_->download->next_request(); });
}

void IslandTalk::add_signs(std::vector<Message>& messages) {
  if (newest_ && newest_->name.empty()) {
    Message ask = own(MessageKind::Ask);
    ask.blob = BlobKind::Parameters;
    messages.push_back(std::move(ask));
  }
  for (const auto& [exchange, upload] : changes_) {
    if (!upload.done() || combined_.contains(exchange)) continue;
    Message ask = upload.about();
    ask.kind = MessageKind::Ask;
    ask.blob = BlobKind::Combined;
    ask.step = step_;
    messages.push_back(std::move(ask));
  }
  if (messages.empty()) messages.push_back(own(MessageKind::Alive));
}

}  // namespace tessera
