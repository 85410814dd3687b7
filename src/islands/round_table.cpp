// SPDX-License-Identifier: Apache-2.0
#include "islands/round_table.h"

#include "core/error.h"

namespace tessera {

RoundTable::RoundTable(RoundTableOptions options, ExchangeId next)
    : options_(std::move(options)), next_(next) {}

void RoundTable::join(int island, ExchangeId first) {
  members_[island] = next_;
  offers_from(island, first);
}

void RoundTable::offers_from(int island, ExchangeId first) {
  const auto member = members_.find(island);
  if (member == members_.end() || first <= member->second) return;
  member->second = first;
  for (auto open = open_.begin(); open != open_.end() && open->first < first;) {
    open->second.changes.erase(island);
    open = open->second.changes.empty() ? open_.erase(open) : std::next(open);
  }
}

bool RoundTable::has_change(int island, ExchangeId exchange) const {
  const auto open = open_.find(exchange);
  return open != open_.end() && open->second.changes.contains(island);
}

void RoundTable::leave(int island) { members_.erase(island); }

std::vector<int> RoundTable::members() const {
  std::vector<int> islands;
  for (const auto& [island, first] : members_) islands.push_back(island);
  return islands;
}

RoundTable::Put RoundTable::put(int island, FragmentChange change, double now_seconds) {
  TESSERA_CHECK(is_member(island), "island {}", island);
  const auto fragment = static_cast<size_t>(change.exchange.fragment);
  if (change.exchange.fragment < 0 || fragment >= options_.elements.size())
    throw user_error("island {} sent fragment {}, but there are {}", island,
                     change.exchange.fragment, options_.elements.size())
        .help("all islands need the same islands.fragments");
  std::vector<double> values(static_cast<size_t>(options_.elements[fragment]));
  options_.format.decode(change.bytes, values);
  if (change.exchange < next_) return Put::TooLate;
  Open& open = open_.try_emplace(change.exchange, Open{.first_seconds = now_seconds}).first->second;
  return open.changes.try_emplace(island, std::move(values)).second ? Put::Taken : Put::Again;
}

bool RoundTable::complete(ExchangeId exchange, const Open& open) const {
  for (const auto& [island, first] : members_)
    if (first <= exchange && !open.changes.contains(island)) return false;
  return true;
}

std::vector<CombinedChange> RoundTable::close(double now_seconds) {
  std::vector<CombinedChange> closed;
  while (!open_.empty()) {
    const auto& [exchange, open] = *open_.begin();
    const bool waited = now_seconds >= open.first_seconds + options_.patience_seconds;
    if (!waited && !complete(exchange, open)) break;
    closed.push_back(combine(exchange, open));
    next_ = exchange.after(static_cast<int>(options_.elements.size()));
    open_.erase(open_.begin());
  }
  return closed;
}

// Summed in the order of islands, so that the bits do not depend on who was first.
CombinedChange RoundTable::combine(ExchangeId exchange, const Open& open) const {
  CombinedChange combined{.exchange = exchange};
  std::vector<double> sum(
      static_cast<size_t>(options_.elements[static_cast<size_t>(exchange.fragment)]));
  for (const auto& [island, values] : open.changes) {
    combined.islands.push_back(island);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  const auto count = static_cast<double>(combined.islands.size());
  for (double& value : sum) value /= count;
  combined.bytes = options_.format.encode(sum);
  return combined;
}

std::optional<double> RoundTable::closes_at() const {
  if (open_.empty()) return std::nullopt;
  return open_.begin()->second.first_seconds + options_.patience_seconds;
}

std::vector<int> RoundTable::missing() const {
  std::vector<int> islands;
  if (open_.empty()) return islands;
  const auto& [exchange, open] = *open_.begin();
  for (const auto& [island, first] : members_)
    if (first <= exchange && !open.changes.contains(island)) islands.push_back(island);
  return islands;
}

}  // namespace tessera
