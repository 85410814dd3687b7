// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state_source.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/owned_pieces.h"
#include "core/convert_elements.h"
#include "ir/optimizer.h"
#include "program/pieces.h"

namespace tessera {
namespace {

// Stretches of a rank's piece of a state, and their positions in its arena of that memory.
struct Held {
  std::vector<Stretch> stretches;
  std::vector<int64_t> offsets;
  MemorySpace space;
  int64_t elements = 0;
};

Held held_by(const RankStates& rank, const StateBuffer& state) {
  Held held{.stretches = {}, .offsets = {}, .space = state.place.space};
  for_each_piece(rank.program(), rank.rank(), state.type, state.placement, state.place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   held.stretches.push_back({element, count});
                   held.offsets.push_back(offset);
                   held.elements += count;
                 });
  return held;
}

bool is_weight(StateRole role) {
  return role == StateRole::Parameter || role == StateRole::Master || role == StateRole::Average;
}

std::string companion(const std::string& parameter, const CompanionState& state) {
  return fmt::format("{}.{}", parameter, state.name);
}

}  // namespace

void StateSource::add_tensor(const std::string& name, Tensor tensor) {
  const auto [known, fresh] = tensors_.try_emplace(name, tensor);
  if (!fresh && (known->second.dtype != tensor.dtype || known->second.shape != tensor.shape))
    throw user_error("{}: parts of {} differ in dtype or shape", path_.string(), name);
}

std::vector<std::byte> StateSource::read_whole(const std::string& name) const {
  return read_part(name, {0, tensors_.at(name).elements()});
}

std::vector<std::byte> StateSource::read_part(const std::string& name, Stretch part) const {
  const int64_t element_bytes = size_bytes(tensors_.at(name).dtype);
  std::vector<std::byte> read(static_cast<size_t>(part.count * element_bytes));
  for_each_overlap(name, {part},
                   [&](size_t, int64_t skip, int64_t, std::span<const std::byte> bytes) {
                     std::memcpy(read.data() + skip * element_bytes, bytes.data(), bytes.size());
                   });
  return read;
}

const StateSource::Tensor& StateSource::tensor_for(const StateBuffer& state,
                                                   const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw user_error("{} has no {}", path_.string(), name)
        .help("was it written by another model or optimizer?");
  if (found->second.shape != shape_of(state.type))
    throw user_error("{}: {} has shape [{}], but in the model it has [{}]", path_.string(), name,
                     fmt::join(found->second.shape, ", "), fmt::join(shape_of(state.type), ", "))
        .help("resume with the model settings that the checkpoint was written with");
  return found->second;
}

void StateSource::load(RankStates& rank, const StateBuffer& state, const std::string& name) const {
  const Tensor& tensor = tensor_for(state, name);
  const Held held = held_by(rank, state);
  const int64_t element_bytes = size_bytes(state.type.dtype);
  int64_t loaded = 0;
  std::vector<std::byte> converted;
  for_each_overlap(name, held.stretches,
                   [&](size_t i, int64_t skip, int64_t count, std::span<const std::byte> bytes) {
                     loaded += count;
                     const int64_t offset = held.offsets[i] + skip * element_bytes;
                     if (tensor.dtype == state.type.dtype) {
                       rank.write_states(held.space, offset, bytes);
                       return;
                     }
                     converted.resize(static_cast<size_t>(count * element_bytes));
                     convert_elements(tensor.dtype, bytes, state.type.dtype, converted);
                     rank.write_states(held.space, offset, converted);
                   });
  if (loaded != held.elements)
    throw user_error("{}: the parts of {} do not cover all of it", path_.string(), name);
}

// A router's bias, which no optimizer moves, beside weights that have averages.
bool StateSource::is_unaveraged(const std::string& parameter) const {
  const auto next = tensors_.upper_bound(parameter);
  const bool has_companions = next != tensors_.end() && next->first.starts_with(parameter + ".");
  return !has_companions && std::ranges::any_of(tensors_, [](const auto& tensor) {
    return tensor.first.ends_with(fmt::format(".{}", kAverage.name));
  });
}

std::string StateSource::origin_of(const std::string& parameter, bool averaged) const {
  const std::string average = companion(parameter, kAverage);
  if (averaged && is_unaveraged(parameter)) return parameter;
  if (averaged && !tensors_.contains(average))
    throw user_error("{} has no {}", path_.string(), average)
        .help("train with train.ema_decay, or leave out --averaged");
  const std::string master = companion(parameter, kMaster);
  return averaged ? average : tensors_.contains(master) ? master : parameter;
}

void StateSource::pass_parts(std::span<const std::byte> whole, DType dtype,
                             const std::vector<Stretch>& wanted, const Overlap& f) {
  const int64_t element_bytes = size_bytes(dtype);
  for (size_t i = 0; i < wanted.size(); ++i)
    f(i, 0, wanted[i].count,
      whole.subspan(static_cast<size_t>(wanted[i].element * element_bytes),
                    static_cast<size_t>(wanted[i].count * element_bytes)));
}

void StateSource::load_weights(Executor& executor, bool averaged, const Chosen& chosen) const {
  // Parameter by parameter, so that a source may prepare each one once for all ranks.
  std::map<std::string, std::vector<std::pair<RankStates*, const StateBuffer*>>> by_parameter;
  for (RankStates* rank : executor.rank_states())
    for (const StateBuffer& state : rank->program().states) {
      if (!is_weight(state.spec.role)) continue;
      const bool own = state.spec.role == StateRole::Parameter;
      const std::string& parameter = own ? state.name : state.spec.parameter;
      const StateSpec& spec = own ? state.spec : rank->program().find_state(parameter)->spec;
      if (!chosen || chosen(spec, parameter)) by_parameter[parameter].emplace_back(rank, &state);
    }
  for (const auto& [parameter, states] : by_parameter) {
    const std::string origin = origin_of(parameter, averaged);
    for (const auto& [rank, state] : states) load(*rank, *state, origin);
  }
}

}  // namespace tessera
