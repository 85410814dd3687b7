// SPDX-License-Identifier: Apache-2.0
#include "train/island_exchange.h"

#include <chrono>
#include <cmath>
#include <cstring>

#include "comm/texts.h"
#include "config/run_spec.h"
#include "core/error.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

double norm_of(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

void require_finite(std::span<const double> own, int64_t step) {
  for (const double value : own)
    if (!std::isfinite(value))
      throw user_error("the weights of this island are not finite after step {}", step)
          .help("use a smaller train.learning_rate or islands.outer_learning_rate");
}

}  // namespace

WireFormat island_wire_format(const Config& config) {
  const DType dtype = resolve_precision(config).compute == DType::Fp64 ? DType::Fp64 : DType::Fp32;
  return {.wire = config.islands.wire, .dtype = dtype};
}

OuterOptions outer_options(const IslandsConfig& islands) {
  return {.optimizer = islands.outer_optimizer,
          .learning_rate = islands.outer_learning_rate,
          .momentum = islands.outer_momentum};
}

IslandExchange::IslandExchange(Executor& executor, IslandExchangeOptions options)
    : executor_(executor),
      options_(std::move(options)),
      layout_(executor.program(), static_cast<int>(options_.islands.fragments)) {
  TESSERA_CHECK(layout_.dtype() == options_.format.dtype, "{}", name(layout_.dtype()));
  TESSERA_CHECK(options_.job ? leads() == (options_.job->rank() == 0) : leads(), "no link");
}

// What the process with the link says.
std::string IslandExchange::from_leader(std::string text) const {
  return options_.job ? broadcast_string(*options_.job, std::move(text)) : text;
}

// Steps of a round before the fragment is sent; the last one is at its end.
int64_t IslandExchange::offset(int fragment) const {
  return options_.islands.every * (fragment + 1) / layout_.fragments();
}

// The step after which the exchange before this one is sent.
int64_t IslandExchange::step_before(ExchangeId next) const {
  return next.round * options_.islands.every + (next.fragment > 0 ? offset(next.fragment - 1) : 0);
}

OuterSnapshot IslandExchange::first_snapshot() const {
  OuterSnapshot first;
  const WireFormat exact{IslandWire::Exact, layout_.dtype()};
  for (int f = 0; f < layout_.fragments(); ++f)
    first.parameters.push_back(exact.encode(layout_.read(executor_, f)));
  return first;
}

std::optional<int64_t> IslandExchange::begin(int64_t step) {
  if (!restored_) {
    OuterSnapshot first = first_snapshot();
    if (leads()) outer_.emplace(outer_options(options_.islands), options_.format, std::move(first));
  }
  std::optional<OuterSnapshot> newest;
  if (leads()) newest = options_.link->join(outer_->snapshot());
  if (newest && newest->next <= outer_->next()) newest.reset();
  if (!from_leader(newest ? "ahead" : "").empty())
    return adopt(newest ? std::move(*newest) : OuterSnapshot{}, step);
  if (leads())
    for (const InFlight& sent : in_flight_) send_change(sent);
  return std::nullopt;
}

std::optional<int64_t> IslandExchange::after_step(int64_t step) {
  const bool last = step == options_.steps;
  const IslandsConfig& islands = options_.islands;
  if (const auto jump = settle_until(last ? step : step - islands.delay, step)) return jump;
  if (last) {
    for (int f = 0; f < layout_.fragments(); ++f) send(next_.fragment, step);
    return settle_until(step, step);
  }
  for (int f = 0; f < layout_.fragments(); ++f)
    if (step % islands.every == offset(f) % islands.every) send(f, step);
  return waits() ? settle_until(step, step) : std::nullopt;
}

void IslandExchange::send(int fragment, int64_t step) {
  // That of the step, so that islands which were out of reach count like the others.
  const int64_t every = options_.islands.every;
  const int64_t counted = next_.round + (next_.fragment > fragment ? 1 : 0);
  const int64_t of_step = (step - offset(fragment) + every - 1) / every;
  InFlight sent{.exchange = {std::max(counted, of_step), fragment}, .sent_step = step};
  next_ = sent.exchange.after(layout_.fragments());
  std::vector<double> own = layout_.read(executor_, fragment);
  if (leads()) {
    require_finite(own, step);
    sent.own = std::move(own);
    sent.change_norm = norm_of(change_between(outer_->parameters(fragment), sent.own));
    send_change(sent);
  }
  in_flight_.push_back(std::move(sent));
}

void IslandExchange::send_change(const InFlight& sent) {
  const std::vector<double> change =
      change_between(outer_->parameters(sent.exchange.fragment), sent.own);
  options_.link->send({.exchange = sent.exchange, .bytes = options_.format.encode(change)});
}

std::optional<int64_t> IslandExchange::settle_until(int64_t last_sent_step, int64_t step) {
  while (!in_flight_.empty() && in_flight_.front().sent_step <= last_sent_step)
    if (const auto jump = settle(step)) return jump;
  return std::nullopt;
}

// Applies the oldest exchange. What was learned since it was sent stays: own = new outer + (own now
// - own when it was sent).
std::optional<int64_t> IslandExchange::settle(int64_t step) {
  InFlight sent = std::move(in_flight_.front());
  in_flight_.erase(in_flight_.begin());
  const int fragment = sent.exchange.fragment;
  const auto begin = std::chrono::steady_clock::now();
  std::optional<CombinedChange> combined;
  if (leads()) combined = options_.link->receive(sent.exchange);
  const double waited = seconds_since(begin);
  const std::string outcome = from_leader(!combined                   ? "missed"
                                          : combined->islands.empty() ? "alone"
                                                                      : "combined");
  if (outcome == "missed") return adopt(leads() ? options_.link->newest() : OuterSnapshot{}, step);
  if (outcome == "alone") return std::nullopt;  // what it sends next holds this change, too
  std::vector<double> now;
  if (sent.sent_step < step) now = layout_.read(executor_, fragment);
  std::vector<double> values;
  if (leads()) {
    outer_->apply(*combined);
    values = outer_->parameters(fragment);
    for (size_t i = 0; i < now.size(); ++i) values[i] += now[i] - sent.own[i];
    records_.push_back({.step = step,
                        .sent_step = sent.sent_step,
                        .round = sent.exchange.round,
                        .fragment = fragment,
                        .islands = combined->islands,
                        .bytes = static_cast<int64_t>(combined->bytes.size()),
                        .waited_seconds = waited,
                        .change_norm = sent.change_norm});
  }
  write_fragment(fragment, std::move(values), /*averages=*/false);
  return std::nullopt;
}

// The others are ahead: their weights, and the step after which these were combined.
std::optional<int64_t> IslandExchange::adopt(OuterSnapshot newest, int64_t step) {
  in_flight_.clear();
  if (leads()) outer_->replace(std::move(newest));
  const std::string told = from_leader(
      leads() ? fmt::format("{} {}", outer_->next().round, outer_->next().fragment) : "");
  const size_t blank = told.find(' ');
  next_ = {std::stoll(told.substr(0, blank)), std::stoi(told.substr(blank + 1))};
  for (int f = 0; f < layout_.fragments(); ++f)
    write_fragment(f, leads() ? outer_->parameters(f) : std::vector<double>{}, /*averages=*/true);
  const int64_t ahead = std::max(step, std::min(step_before(next_), options_.steps));
  records_.push_back({.step = ahead,
                      .sent_step = step,
                      .round = next_.round,
                      .fragment = next_.fragment,
                      .missed = true});
  return ahead;
}

void IslandExchange::write_fragment(int fragment, std::vector<double> values, bool averages) {
  values.resize(static_cast<size_t>(layout_.elements(fragment)));
  if (options_.job) {
    std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    bytes = from_leader(leads() ? std::move(bytes) : std::string());
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  layout_.write(executor_, fragment, values, averages);
}

void IslandExchange::report(int64_t step, double loss, int64_t tokens) {
  if (leads()) options_.link->report(step, loss, tokens);
}

void IslandExchange::leave() {
  if (leads()) options_.link->leave();
}

std::vector<ExchangeRecord> IslandExchange::take_records() { return std::exchange(records_, {}); }

}  // namespace tessera
