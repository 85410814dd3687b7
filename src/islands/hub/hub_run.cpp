// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/hub_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "files/digest.h"
#include "islands/hub/first_state.h"
#include "islands/hub/transfer.h"
#include "system/random_name.h"

namespace tessera {

HubRun::HubRun(double patience_seconds, bool saves_beside, HubStore* store, HubRecord& record)
    : patience_seconds_(patience_seconds),
      saves_beside_(saves_beside),
      store_(store),
      record_(record) {}

bool HubRun::restore() {
  auto loaded = store_ ? store_->load() : std::nullopt;
  if (!loaded) return false;
  state_ = std::move(loaded->first);
  settings_ = settings_of(state_.settings);
  outer_.emplace(settings_.outer, settings_.format, std::move(loaded->second));
  table_.emplace(make_table());
  return true;
}

void HubRun::begin(const std::map<std::string, std::string>& settings, OuterSnapshot first) {
  const size_t fragments = first.parameters.size();
  const ExchangeId next = first.next;
  state_ = {.life = random_name(), .settings = settings};
  settings_ = settings_of(settings);
  for (size_t f = 0; f < fragments; ++f)
    state_.rounds.push_back(static_cast<int>(f) < next.fragment ? next.round : next.round - 1);
  state_.combined.resize(fragments);
  outer_.emplace(settings_.outer, settings_.format, std::move(first));
  table_.emplace(make_table());
  // All are expected, so that the first exchange does not close before they could have come.
  for (int island = 0; island < settings_.islands; ++island) table_->join(island);
  begin_to_save({});
  finish_saving();
}

RoundTable HubRun::make_table() const {
  RoundTableOptions options{.format = settings_.format, .patience_seconds = patience_seconds_};
  for (int f = 0; f < outer_->fragments(); ++f) options.elements.push_back(outer_->elements(f));
  return RoundTable(std::move(options), outer_->next());
}

int64_t HubRun::change_bytes(int fragment) const {
  return settings_.format.bytes(outer_->elements(fragment));
}

bool HubRun::is_newest(ExchangeId next, const std::string& digest) const {
  if (next != outer_->next()) return false;
  if (state_digest_.empty()) state_digest_ = digest_of(outer_->snapshot());
  return digest == state_digest_;
}

std::string HubRun::name_of(ExchangeId exchange) const {
  return state_.rounds.size() > 1
             ? fmt::format("round {}, fragment {}", exchange.round, exchange.fragment)
             : fmt::format("round {}", exchange.round);
}

void HubRun::leave(int64_t island) {
  if (table_) table_->leave(static_cast<int>(island));
}

const HubRun::Closed* HubRun::find_unsaved(ExchangeId exchange) const {
  const auto found = std::ranges::find_if(
      unsaved_, [&](const Closed& closed) { return closed.change.exchange == exchange; });
  return found == unsaved_.end() ? nullptr : &*found;
}

bool HubRun::has_change(int64_t island, ExchangeId exchange) const {
  const auto number = static_cast<int>(island);
  const Closed* unsaved = find_unsaved(exchange);
  return unsaved ? std::ranges::binary_search(unsaved->change.islands, number)
                 : table_->has_change(number, exchange);
}

bool HubRun::waits_for(ExchangeId exchange, int64_t base) const {
  return exchange >= table_->next() &&
         base == state_.rounds[static_cast<size_t>(exchange.fragment)];
}

void HubRun::put(int64_t island, FragmentChange change, double now) {
  const ExchangeId exchange = change.exchange;
  if (table_->put(static_cast<int>(island), std::move(change), now) == RoundTable::Put::Taken)
    first_arrivals_.try_emplace(exchange, now);
}

std::vector<HubRun::Closed> HubRun::close(double now) {
  if (!table_) return {};
  if (!is_saving()) unsaved_ = combine(now);
  if (is_saving()) {
    const auto wait = std::chrono::seconds(0);
    if (saving_.wait_for(wait) == std::future_status::timeout) return {};
    finish_saving();
  }
  return std::exchange(unsaved_, {});
}

std::vector<HubRun::Closed> HubRun::combine(double now) {
  std::vector<Closed> all;
  const std::vector<int> members = table_->members();
  std::vector<int> changed;
  for (CombinedChange& combined : table_->close(now)) {
    outer_->apply(combined);
    state_digest_.clear();
    const ExchangeId exchange = combined.exchange;
    const auto f = static_cast<size_t>(exchange.fragment);
    for (const BlobKind kind : {BlobKind::Combined, BlobKind::Parameters, BlobKind::Momentum})
      digests_.erase({kind, exchange.fragment});
    state_.rounds[f] = exchange.round;
    state_.combined[f] = combined;
    changed.push_back(exchange.fragment);
    Closed closed{.change = std::move(combined), .members = members};
    if (const auto first = first_arrivals_.find(exchange); first != first_arrivals_.end())
      closed.waited_seconds = now - first->second;
    first_arrivals_.erase(first_arrivals_.begin(), first_arrivals_.upper_bound(exchange));
    all.push_back(std::move(closed));
  }
  if (!changed.empty()) begin_to_save(std::move(changed));
  return all;
}

Message HubRun::fate(int64_t island, ExchangeId exchange, int64_t base) {
  const CombinedChange& last = state_.combined[static_cast<size_t>(exchange.fragment)];
  Message answer{.kind = MessageKind::Open,
                 .blob = BlobKind::Combined,
                 .round = exchange.round,
                 .fragment = exchange.fragment};
  if (find_unsaved(exchange)) return answer;
  if (!last.islands.empty() && last.exchange == exchange) {
    const bool took_part = std::ranges::binary_search(last.islands, static_cast<int>(island));
    answer.kind = took_part ? MessageKind::Ready : MessageKind::Closed;
    answer.size = static_cast<int64_t>(last.bytes.size());
    answer.digest = digest_of_blob(BlobKind::Combined, exchange.fragment, last.bytes);
    answer.islands.assign(last.islands.begin(), last.islands.end());
  } else if (!waits_for(exchange, base)) {
    answer.kind = MessageKind::Closed;
  }
  return answer;
}

Message HubRun::newest() const {
  return {.kind = MessageKind::Ready,
          .blob = BlobKind::Parameters,
          .round = outer_->next().round,
          .fragment = outer_->next().fragment,
          .text = state_name(),
          .rounds = state_.rounds};
}

// Whoever fetches one state while the next one comes about begins again.
std::string HubRun::state_name() const {
  return fmt::format("{}.{}", outer_->next().round, outer_->next().fragment);
}

const std::vector<std::byte>* HubRun::find_blob(const Message& wanted) const {
  const auto fragment = static_cast<size_t>(wanted.fragment);
  const OuterSnapshot& outer = outer_->snapshot();
  if (fragment >= state_.rounds.size()) return nullptr;
  if (wanted.blob == BlobKind::Combined)
    return !state_.combined[fragment].islands.empty() && state_.rounds[fragment] == wanted.round
               ? &state_.combined[fragment].bytes
               : nullptr;
  if (wanted.text != state_name()) return nullptr;
  if (wanted.blob == BlobKind::Parameters) return &outer.parameters[fragment];
  const bool has = wanted.blob == BlobKind::Momentum && fragment < outer.momentum.size();
  return has ? &outer.momentum[fragment] : nullptr;
}

Message HubRun::part(const Message& wanted) {
  Message part{.kind = MessageKind::Closed,
               .blob = wanted.blob,
               .round = wanted.round,
               .fragment = wanted.fragment,
               .text = wanted.text};
  const std::vector<std::byte>* bytes = find_blob(wanted);
  if (!bytes || wanted.offset > static_cast<int64_t>(bytes->size())) return part;
  part.kind = MessageKind::Part;
  return piece_of(std::move(part), *bytes, digest_of_blob(wanted.blob, wanted.fragment, *bytes),
                  wanted.offset);
}

const std::string& HubRun::digest_of_blob(BlobKind blob, int64_t fragment,
                                          const std::vector<std::byte>& bytes) {
  std::string& digest = digests_[{blob, fragment}];
  if (digest.empty()) digest = digest_of(bytes);
  return digest;
}

// Empty: all of them.
void HubRun::begin_to_save(std::vector<int> fragments) {
  if (!store_) return;
  state_.members = table_->members();
  saving_ = std::async(saves_beside_ ? std::launch::async : std::launch::deferred,
                       [this, fragments = std::move(fragments)]() -> std::string {
                         try {
                           store_->save(state_, outer_->snapshot(), fragments);
                         } catch (const UserError& error) {
                           return error.message();
                         }
                         return {};
                       });
}

// A disk that is full must not end the run: the islands have what they need.
void HubRun::finish_saving() {
  if (!is_saving()) return;
  if (const std::string why = saving_.get(); !why.empty())
    record_.event("not_saved", std::nullopt,
                  fmt::format("the outer state could not be saved: {}", why));
}

}  // namespace tessera
