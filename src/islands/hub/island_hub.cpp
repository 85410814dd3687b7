// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/island_hub.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"
#include "core/quantities.h"
#include "islands/hub/curve_keys.h"

namespace tessera {
namespace {

std::string list_of_islands(const std::vector<int>& islands) {
  return islands.empty() ? "nobody" : fmt::format("{}", fmt::join(islands, ", "));
}

ExchangeId first_of(const Message& message) {
  return {.round = message.first_round, .fragment = static_cast<int>(message.first_fragment)};
}

ExchangeId exchange_of(const Message& message) {
  return {.round = message.round, .fragment = static_cast<int>(message.fragment)};
}

int64_t sum_of(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

}  // namespace

// Those who took part before the hub ended are waited for as if they had just been heard.
IslandHub::IslandHub(HubOptions options, HubStore* store, HubRecord& record, double now)
    : options_(options),
      record_(record),
      run_(options.patience_seconds, options.saves_beside, store, record) {
  if (!run_.restore()) return;
  for (const int member : run_.saved_members()) {
    run_.join(member);
    joined_[member].heard = now;
  }
  record_.event(
      "restarted", std::nullopt,
      fmt::format("the hub goes on from {}, and waits for islands {}",
                  run_.name_of(run_.outer().next), list_of_islands(run_.saved_members())));
}

void IslandHub::reply(const std::string& to, Message message) {
  message.life = run_.life();
  if (!to.empty()) replies_.push_back({.to = to, .message = std::move(message)});
}

IslandHub::Joined* IslandHub::find(const std::string& from, int64_t island) {
  const auto found = joined_.find(island);
  return found == joined_.end() || found->second.connection != from ? nullptr : &found->second;
}

std::vector<HubReply> IslandHub::take(const std::string& from, const std::string& user,
                                      const Message& message, double now) {
  try {
    if (!user.empty() && user != island_name(message.island))
      throw user_error("its key is that of {}", user);
    if (message.kind == MessageKind::Hello)
      greet(from, message, now);
    else if (Joined* island = find(from, message.island))
      hear(*island, message, now);
    else
      reply(from, {.kind = MessageKind::Unknown});
  } catch (const UserError& error) {
    reply(from, {.kind = MessageKind::Refused, .text = error.message()});
    record_.event("refused", message.island,
                  fmt::format("island {} is refused: {}", message.island, error.message()));
  }
  close_exchanges(now);
  return std::exchange(replies_, {});
}

void IslandHub::hear(Joined& island, const Message& message, double now) {
  island.heard = now;
  island.step = std::max(island.step, message.step);
  island.tokens = std::max(island.tokens, message.tokens);
  if (message.loss > 0) island.loss = message.loss;
  island.first = std::max(island.first, first_of(message));
  if (run_.has_begun()) run_.offers_from(message.island, island.first);
  switch (message.kind) {
    case MessageKind::Piece:
      if (first_ && message.island == first_->island())
        return take_first_piece(island.connection, message, now);
      return take_change_piece(island, message, now);
    case MessageKind::Ask:
      return answer_question(island, message);
    case MessageKind::Fetch:
      if (!run_.has_begun()) throw user_error("it asks for what there is not yet");
      return reply(island.connection, run_.part(message));
    case MessageKind::Leave:
      reply(island.connection, {.kind = MessageKind::Heard});
      return let_go(message.island, "left", "has left");
    case MessageKind::Alive:
      return reply(island.connection, {.kind = MessageKind::Heard});
    default:
      throw user_error("it says what a hub says");
  }
}

std::vector<HubReply> IslandHub::look(double now) {
  std::vector<int64_t> silent;
  for (const auto& [island, joined] : joined_)
    if (now - joined.heard > options_.silence_seconds) silent.push_back(island);
  for (const int64_t island : silent)
    let_go(island, "silent",
           joined_[island].life.empty()
               ? std::string("has not come")
               : fmt::format("has not been heard for {:.0f} s", options_.silence_seconds));
  close_exchanges(now);
  return std::exchange(replies_, {});
}

void IslandHub::let_go(int64_t island, const std::string& kind, const std::string& why) {
  tokens_of_others_ += joined_[island].tokens;
  joined_.erase(island);
  run_.leave(island);
  if (first_ && first_->island() == island) first_.reset();
  const std::vector<int> left = run_.members();
  record_.event(kind, island,
                fmt::format("island {} {}; {}", island, why,
                            left.empty() ? "no island is left"
                                         : "the others go on: " + list_of_islands(left)));
}

// Empty: it may come in.
std::string IslandHub::refusal(const Message& hello) const {
  const IslandSettings settings = settings_of(hello.settings);
  if (hello.island >= settings.islands)
    return fmt::format("there is no island {}: they are 0 to {}", hello.island,
                       settings.islands - 1);
  if (run_.has_begun() || first_) {
    if (std::string text = difference(
            hello.settings, run_.has_begun() ? run_.settings() : first_->settings(), hello.island);
        !text.empty())
      return text;
    std::vector<int64_t> sizes;
    if (run_.has_begun())
      for (const auto& fragment : run_.outer().parameters)
        sizes.push_back(static_cast<int64_t>(fragment.size()));
    if (hello.state_bytes != (run_.has_begun() ? sizes : first_->state_bytes()))
      return fmt::format("island {} has parameters of other sizes", hello.island);
  } else if (hello.digest.empty()) {
    return "the hub has no outer state of this run: start it with the --out that it had";
  }
  if (run_.has_begun() && hello.digest.empty() && !hello.text.empty() && hello.text != run_.life())
    return "the hub has the outer state of another run: start it with the --out that it had";
  for (const int64_t bytes : hello.state_bytes)
    if (bytes % size_bytes(settings.format.dtype) != 0)
      return fmt::format("island {} has parts of values", hello.island);
  if (hello.state_bytes.empty()) return fmt::format("island {} has no parameters", hello.island);
  if (static_cast<double>(sum_of(hello.state_bytes)) > options_.most_state_bytes)
    return fmt::format("its parameters take {}, and the hub's machine has memory for {}",
                       short_bytes(sum_of(hello.state_bytes)),
                       short_bytes(static_cast<int64_t>(options_.most_state_bytes)));
  return {};
}

void IslandHub::greet(const std::string& from, const Message& hello, double now) {
  if (const std::string why = refusal(hello); !why.empty()) throw UserError(why);
  const auto there = joined_.find(hello.island);
  if (there != joined_.end() && !there->second.life.empty() && there->second.life != hello.life &&
      now - there->second.heard <= options_.silence_seconds)
    return reply(from, {.kind = MessageKind::Wait,
                        .text = fmt::format("the hub still hears another island {}, which may have "
                                            "just ended",
                                            hello.island)});
  if (run_.has_begun()) return admit(from, hello, now);
  if (first_ && first_->island() != hello.island)
    return reply(from, {.kind = MessageKind::Wait, .text = "another island sends the first state"});
  joined_[hello.island] = {.connection = from, .life = hello.life, .heard = now};
  any_joined_ = true;
  first_.emplace(hello);
  reply(from, {.kind = MessageKind::Welcome, .text = "found"});
}

void IslandHub::take_first_piece(const std::string& from, const Message& piece, double now) {
  first_->add(piece);
  reply(from, {.kind = MessageKind::Taken,
               .blob = piece.blob,
               .fragment = piece.fragment,
               .offset = piece.offset,
               .size = piece.size});
  if (!first_->has_all()) return;
  FirstState first = std::move(*first_);
  first_.reset();
  run_.begin(first.settings(), first.take());
  // The others have the time that an exchange has to come at all.
  for (int island = 0; island < run_.islands(); ++island)
    joined_.try_emplace(
        island, Joined{.heard = now + options_.patience_seconds - options_.silence_seconds});
  const size_t fragments = first.state_bytes().size();
  record_.event("founded", piece.island,
                fmt::format("island {} has begun the run: {} islands, {} of parameters in {} "
                            "fragment{}",
                            piece.island, run_.islands(), short_bytes(sum_of(first.state_bytes())),
                            fragments, fragments == 1 ? "" : "s"));
  reply(from, {.kind = MessageKind::Welcome, .text = "begin", .rounds = run_.rounds()});
}

// An island that has another connection only goes on as it was: the exchange that is open still
// waits for it.
void IslandHub::admit(const std::string& from, const Message& hello, double now) {
  const bool comes_back = hello.digest.empty();
  const bool begins = !comes_back && run_.is_newest(exchange_of(hello), hello.digest);
  const auto there = joined_.find(hello.island);
  const bool was_there = there != joined_.end() && there->second.life == hello.life;
  if (there == joined_.end()) run_.join(hello.island);
  const ExchangeId first = comes_back ? first_of(hello) : ExchangeId{};
  run_.offers_from(hello.island, first);
  joined_[hello.island] = {
      .connection = from, .life = hello.life, .heard = now, .step = hello.step, .first = first};
  any_joined_ = true;
  if (!was_there) {
    const std::string now_there = list_of_islands(run_.members());
    if (comes_back)
      record_.event("returned", hello.island,
                    fmt::format("island {} is back; islands: {}", hello.island, now_there));
    else if (begins)
      record_.event("began", hello.island,
                    fmt::format("island {} begins with the outer weights that the others have; "
                                "islands: {}",
                                hello.island, now_there));
    else
      record_.event("joined", hello.island,
                    fmt::format("island {} joins and takes the newest outer weights, before {}; "
                                "islands: {}",
                                hello.island, run_.name_of(run_.outer().next), now_there));
  }
  Message welcome{.kind = MessageKind::Welcome, .text = "take"};
  if (comes_back || begins) welcome = {.kind = MessageKind::Welcome, .text = "begin"};
  if (begins) welcome.rounds = run_.rounds();
  reply(from, welcome);
}

// A change that came too late, or starts from other outer weights, is not for this exchange.
void IslandHub::take_change_piece(Joined& island, const Message& piece, double now) {
  const ExchangeId exchange = exchange_of(piece);
  if (!run_.has_begun() || piece.blob != BlobKind::Change ||
      static_cast<size_t>(piece.fragment) >= run_.rounds().size())
    throw user_error("it sends what nobody waits for");
  const auto acknowledge = [&] {
    reply(island.connection, {.kind = MessageKind::Taken,
                              .blob = BlobKind::Change,
                              .round = piece.round,
                              .fragment = piece.fragment,
                              .offset = piece.offset,
                              .size = piece.size});
  };
  if (run_.has_change(piece.island, exchange)) return acknowledge();
  if (!run_.waits_for(exchange, piece.base)) {
    island.changes.erase(exchange);
    // Nobody waits for what cannot come.
    if (exchange >= run_.outer().next && !island.sits_out) {
      island.sits_out = true;
      run_.leave(piece.island);
    }
    return reply(island.connection, run_.fate(piece.island, exchange, piece.base));
  }
  if (piece.size != run_.change_bytes(exchange.fragment))
    throw user_error("its change has another size than those of the others");
  // One for each fragment at most, with those that never became whole.
  if (island.changes.size() > run_.rounds().size()) island.changes.clear();
  IncomingBlob& blob = island.changes.try_emplace(exchange, piece.size, piece.digest).first->second;
  blob.add(piece);
  acknowledge();
  if (!blob.has_all()) return;
  if (std::exchange(island.sits_out, false)) run_.join(piece.island, island.first);
  FragmentChange change{.exchange = exchange, .bytes = blob.take()};
  island.changes.erase(exchange);
  run_.put(piece.island, std::move(change), now);
}

void IslandHub::answer_question(const Joined& island, const Message& question) {
  if (!run_.has_begun()) return reply(island.connection, {.kind = MessageKind::Heard});
  if (question.blob == BlobKind::Parameters) {
    if (run_.is_saving()) return reply(island.connection, {.kind = MessageKind::Heard});
    Message newest = run_.newest();
    for (const auto& [number, other] : joined_) newest.step = std::max(newest.step, other.step);
    return reply(island.connection, newest);
  }
  if (static_cast<size_t>(question.fragment) >= run_.rounds().size())
    throw user_error("it asks for a fragment that is not there");
  Message fate = run_.fate(question.island, exchange_of(question), question.base);
  if (fate.kind == MessageKind::Open)
    fate.size = bytes_of_change(question.island, island, exchange_of(question));
  reply(island.connection, std::move(fate));
}

int64_t IslandHub::bytes_of_change(int64_t island, const Joined& joined,
                                   ExchangeId exchange) const {
  if (run_.has_change(island, exchange)) return run_.change_bytes(exchange.fragment);
  const auto begun = joined.changes.find(exchange);
  return begun == joined.changes.end() ? 0 : begun->second.size() - begun->second.missing_bytes();
}

void IslandHub::close_exchanges(double now) {
  for (const HubRun::Closed& closed : run_.close(now)) {
    const ExchangeId exchange = closed.change.exchange;
    for (const int island : closed.members)
      if (!std::ranges::binary_search(closed.change.islands, island) && joined_.contains(island))
        record_.event("lagged", island,
                      fmt::format("{} closed without island {}, {:.0f} s after the first change; "
                                  "it takes the newest outer weights",
                                  run_.name_of(exchange), island, closed.waited_seconds));
    for (auto& [number, island] : joined_) {
      if (std::exchange(island.sits_out, false)) run_.join(number, island.first);
      reply(island.connection, run_.fate(number, exchange, exchange.round));
    }
    record_round(closed);
  }
}

void IslandHub::record_round(const HubRun::Closed& closed) {
  const auto bytes =
      static_cast<int64_t>(closed.change.bytes.size() * closed.change.islands.size());
  RoundRecord round{.exchange = closed.change.exchange,
                    .islands = closed.change.islands,
                    .members = closed.members,
                    .bytes_in = bytes,
                    .bytes_out = bytes,
                    .waited_seconds = closed.waited_seconds,
                    .tokens = tokens_of_others_};
  int known = 0;
  for (const auto& [number, island] : joined_) {
    round.step = std::max(round.step, island.step);
    round.tokens += island.tokens;
    if (island.loss <= 0 ||
        !std::ranges::binary_search(closed.change.islands, static_cast<int>(number)))
      continue;
    round.mean_loss += island.loss;
    ++known;
  }
  if (known > 0) round.mean_loss /= known;
  record_.round(round);
}

}  // namespace tessera
