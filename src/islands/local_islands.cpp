// SPDX-License-Identifier: Apache-2.0
#include "islands/local_islands.h"

#include "core/error.h"

namespace tessera {

class LocalIslands::Link : public IslandLink {
 public:
  Link(LocalIslands& all, int island) : all_(all), island_(island) {}

  std::optional<OuterSnapshot> join(const OuterSnapshot& first) override {
    return all_.join(island_, first);
  }
  void send(FragmentChange change) override { all_.send(island_, std::move(change)); }
  std::optional<CombinedChange> receive(ExchangeId exchange) override {
    return all_.receive(island_, exchange);
  }
  OuterSnapshot newest() override { return all_.newest(); }

 private:
  LocalIslands& all_;
  const int island_;
};

LocalIslands::LocalIslands(int islands, OuterOptions options, WireFormat format, int late)
    : islands_(islands), late_(late), options_(options), format_(format) {}

LocalIslands::~LocalIslands() = default;

std::unique_ptr<IslandLink> LocalIslands::link(int island) {
  TESSERA_CHECK(island >= 0 && island < islands_, "island {} of {}", island, islands_);
  return std::make_unique<Link>(*this, island);
}

void LocalIslands::fail(int island, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = fmt::format("island {} failed: {}", island, why);
  changed_.notify_all();
}

bool LocalIslands::failed() const {
  const std::lock_guard lock(mutex_);
  return !failure_.empty();
}

void LocalIslands::throw_if_failed() const {
  if (!failure_.empty()) throw IslandFailed(failure_);
}

// The first to come says where all begin; the members are known before anyone sends.
std::optional<OuterSnapshot> LocalIslands::join(int island, const OuterSnapshot& first) {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  if (!table_) {
    outer_.emplace(options_, format_, first);
    RoundTableOptions options{.format = format_};
    for (int f = 0; f < outer_->fragments(); ++f) options.elements.push_back(outer_->elements(f));
    table_.emplace(std::move(options), first.next);
    for (int i = 0; i < islands_ - late_; ++i) table_->join(i);
  }
  if (!table_->is_member(island)) {
    table_->join(island);
    return outer_->snapshot();
  }
  TESSERA_CHECK(first.parameters == outer_->snapshot().parameters,
                "island {} begins with other weights", island);
  return std::nullopt;
}

void LocalIslands::send(int island, FragmentChange change) {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  const ExchangeId sent = change.exchange;
  const RoundTable::Put put = table_->put(island, std::move(change), 0);
  TESSERA_CHECK(put == RoundTable::Put::Taken, "island {} sent {}.{} too late", island, sent.round,
                sent.fragment);
  for (CombinedChange& combined : table_->close(0)) {
    outer_->apply(combined);
    const ExchangeId exchange = combined.exchange;
    closed_.emplace(exchange, Closed{.change = std::move(combined),
                                     .takers = static_cast<int>(table_->members().size())});
  }
  changed_.notify_all();
}

CombinedChange LocalIslands::receive(int island, ExchangeId exchange) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !failure_.empty() || closed_.contains(exchange); });
  throw_if_failed();
  const auto at = closed_.find(exchange);
  CombinedChange change = at->second.change;
  TESSERA_CHECK(at->second.takers > 0, "island {}", island);
  if (--at->second.takers == 0) closed_.erase(at);
  return change;
}

OuterSnapshot LocalIslands::newest() {
  const std::lock_guard lock(mutex_);
  TESSERA_CHECK(outer_, "no island has joined");
  return outer_->snapshot();
}

}  // namespace tessera
