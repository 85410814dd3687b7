// SPDX-License-Identifier: Apache-2.0
// What an island's checkpoints hold beside its states: the outer state, and what is in flight.
#include <cstring>

#include "core/error.h"
#include "train/island_exchange.h"

namespace tessera {
namespace {

std::string tensor_name(std::string_view what, size_t i) {
  return fmt::format("{}{}.{}", kIslandTensors, what, i);
}

const std::string kNumbers = std::string(kIslandTensors) + "numbers";

std::vector<std::byte> bytes_of(std::span<const int32_t> numbers) {
  const auto bytes = std::as_bytes(numbers);
  return {bytes.begin(), bytes.end()};
}

std::vector<int32_t> numbers_of(std::span<const std::byte> bytes) {
  std::vector<int32_t> numbers(bytes.size() / sizeof(int32_t));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(int32_t));
  return numbers;
}

}  // namespace

// numbers: the fragments, what is applied next (round, fragment), what is sent next, and of each
// exchange in flight its round, fragment and step.
SideTensors IslandExchange::save() const {
  if (!leads()) return {};
  const OuterSnapshot& outer = outer_->snapshot();
  const auto number = [](int64_t value) { return static_cast<int32_t>(value); };
  std::vector<int32_t> numbers{layout_.fragments(), number(outer.next.round), outer.next.fragment,
                               number(next_.round), next_.fragment};
  SideTensors tensors;
  for (size_t f = 0; f < outer.parameters.size(); ++f)
    tensors.push_back({tensor_name("outer", f), layout_.dtype(), outer.parameters[f]});
  for (size_t f = 0; f < outer.momentum.size(); ++f)
    tensors.push_back({tensor_name("momentum", f), layout_.dtype(), outer.momentum[f]});
  const WireFormat exact{IslandWire::Exact, layout_.dtype()};
  for (size_t i = 0; i < in_flight_.size(); ++i) {
    const InFlight& sent = in_flight_[i];
    numbers.insert(numbers.end(),
                   {number(sent.exchange.round), sent.exchange.fragment, number(sent.sent_step)});
    tensors.push_back({tensor_name("sent", i), layout_.dtype(), exact.encode(sent.own)});
  }
  tensors.push_back({kNumbers, DType::Int32, bytes_of(numbers)});
  return tensors;
}

void IslandExchange::restore(const StateSource& saved) {
  if (!saved.tensors().contains(kNumbers))
    throw user_error("{} holds no outer state: it was not saved by an island",
                     saved.path().string())
        .help("begin with its weights: --init-from, and another --out");
  const std::vector<int32_t> numbers = numbers_of(saved.read_whole(kNumbers));
  TESSERA_CHECK(numbers.size() >= 5 && (numbers.size() - 5) % 3 == 0, "{}", numbers.size());
  if (numbers[0] != layout_.fragments())
    throw user_error("{} was saved with {} fragments, but islands.fragments is {}",
                     saved.path().string(), numbers[0], layout_.fragments())
        .at("islands.fragments")
        .help(fmt::format("resume with islands.fragments={}", numbers[0]));
  OuterSnapshot outer{.next = {numbers[1], numbers[2]}};
  next_ = {numbers[3], numbers[4]};
  restored_ = true;
  const bool nesterov = options_.islands.outer_optimizer == OuterOptimizer::Nesterov;
  for (size_t f = 0; f < static_cast<size_t>(layout_.fragments()); ++f) {
    outer.parameters.push_back(saved.read_whole(tensor_name("outer", f)));
    const std::string momentum = tensor_name("momentum", f);
    if (nesterov && saved.tensors().contains(momentum))
      outer.momentum.push_back(saved.read_whole(momentum));
  }
  const WireFormat exact{IslandWire::Exact, layout_.dtype()};
  in_flight_.clear();
  for (size_t i = 5; i < numbers.size(); i += 3) {
    InFlight sent{.exchange = {numbers[i], numbers[i + 1]}, .sent_step = numbers[i + 2]};
    sent.own.resize(static_cast<size_t>(layout_.elements(sent.exchange.fragment)));
    if (leads()) exact.decode(saved.read_whole(tensor_name("sent", (i - 5) / 3)), sent.own);
    in_flight_.push_back(std::move(sent));
  }
  if (leads()) outer_.emplace(outer_options(options_.islands), options_.format, std::move(outer));
}

}  // namespace tessera
