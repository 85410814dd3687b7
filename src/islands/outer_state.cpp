// SPDX-License-Identifier: Apache-2.0
#include "islands/outer_state.h"

#include <cstring>

#include "core/error.h"

namespace tessera {
namespace {

template <typename T>
void step_nesterov(const OuterOptions& options, std::span<const double> change, std::byte* at,
                   std::byte* momentum_at) {
  for (const double g : change) {
    T parameter, momentum;
    std::memcpy(&parameter, at, sizeof(T));
    std::memcpy(&momentum, momentum_at, sizeof(T));
    momentum = static_cast<T>(options.momentum * static_cast<double>(momentum) + g);
    parameter = static_cast<T>(static_cast<double>(parameter) -
                               options.learning_rate *
                                   (g + options.momentum * static_cast<double>(momentum)));
    std::memcpy(at, &parameter, sizeof(T));
    std::memcpy(momentum_at, &momentum, sizeof(T));
    at += sizeof(T);
    momentum_at += sizeof(T);
  }
}

template <typename T>
void step_average(std::span<const double> change, std::byte* at) {
  for (const double g : change) {
    T parameter;
    std::memcpy(&parameter, at, sizeof(T));
    parameter = static_cast<T>(static_cast<double>(parameter) - g);
    std::memcpy(at, &parameter, sizeof(T));
    at += sizeof(T);
  }
}

}  // namespace

OuterState::OuterState(OuterOptions options, WireFormat format, OuterSnapshot first)
    : options_(options), format_(format) {
  TESSERA_CHECK(format.dtype == DType::Fp32 || format.dtype == DType::Fp64, "{}",
                name(format.dtype));
  replace(std::move(first));
}

void OuterState::replace(OuterSnapshot newest) {
  state_ = std::move(newest);
  if (options_.optimizer != OuterOptimizer::Nesterov || !state_.momentum.empty()) return;
  for (const std::vector<std::byte>& fragment : state_.parameters)
    state_.momentum.emplace_back(fragment.size(), std::byte{0});
}

int64_t OuterState::elements(int fragment) const {
  return static_cast<int64_t>(state_.parameters.at(static_cast<size_t>(fragment)).size()) /
         size_bytes(format_.dtype);
}

std::vector<double> OuterState::parameters(int fragment) const {
  std::vector<double> values(static_cast<size_t>(elements(fragment)));
  WireFormat{IslandWire::Exact, format_.dtype}.decode(
      state_.parameters[static_cast<size_t>(fragment)], values);
  return values;
}

void OuterState::apply(const CombinedChange& change) {
  const auto f = static_cast<size_t>(change.exchange.fragment);
  TESSERA_CHECK(change.exchange >= state_.next && f < state_.parameters.size(),
                "exchange {}.{} after {}.{}", change.exchange.round, change.exchange.fragment,
                state_.next.round, state_.next.fragment);
  std::vector<double> values(static_cast<size_t>(elements(change.exchange.fragment)));
  format_.decode(change.bytes, values);
  const bool nesterov = options_.optimizer == OuterOptimizer::Nesterov;
  const auto step = [&]<typename T>() {
    if (nesterov)
      step_nesterov<T>(options_, values, state_.parameters[f].data(), state_.momentum[f].data());
    else
      step_average<T>(values, state_.parameters[f].data());
  };
  if (format_.dtype == DType::Fp64)
    step.operator()<double>();
  else
    step.operator()<float>();
  state_.next = change.exchange.after(fragments());
}

std::vector<double> change_between(std::span<const double> outer, std::span<const double> own) {
  TESSERA_CHECK(outer.size() == own.size(), "{} and {}", outer.size(), own.size());
  std::vector<double> change(outer.size());
  for (size_t i = 0; i < change.size(); ++i) change[i] = outer[i] - own[i];
  return change;
}

}  // namespace tessera
