// SPDX-License-Identifier: Apache-2.0
#include "train/fragment_layout.h"

#include <algorithm>

#include "core/convert_elements.h"
#include "core/error.h"

namespace tessera {
namespace {

const StateBuffer* state_of(const HostView& program, StateRole role, const std::string& parameter) {
  for (const StateBuffer& state : program.states)
    if (state.spec.role == role && state.spec.parameter == parameter) return &state;
  return nullptr;
}

std::vector<std::byte> bytes_of(const Executor& executor, const StateBuffer& state) {
  std::vector<std::byte> bytes(static_cast<size_t>(state.type.bytes()));
  executor.read_state(state, bytes);
  return bytes;
}

// Rounded once, from the values.
void write_values(Executor& executor, const StateBuffer& state, std::span<const double> values) {
  std::vector<std::byte> bytes(static_cast<size_t>(state.type.bytes()));
  convert_elements(DType::Fp64, std::as_bytes(values), state.type.dtype, bytes);
  executor.write_state(state, bytes);
}

}  // namespace

FragmentLayout::FragmentLayout(const HostView& program, int fragments) {
  for (const StateBuffer& state : program.states) {
    if (state.spec.role != StateRole::Parameter || state.spec.frozen) continue;
    const StateBuffer* master = state_of(program, StateRole::Master, state.name);
    parts_.push_back({.master = master ? master : &state,
                      .parameter = &state,
                      .average = state_of(program, StateRole::Average, state.name)});
  }
  std::sort(parts_.begin(), parts_.end(),
            [](const Part& a, const Part& b) { return a.parameter->name < b.parameter->name; });
  int64_t all = 0;
  for (Part& part : parts_) {
    part.begin = all;
    all += part.parameter->type.num_elements();
    if (part.master->type.dtype == DType::Fp64) dtype_ = DType::Fp64;
  }
  if (fragments > all)
    throw user_error("islands.fragments is {}, but the model has {} parameters", fragments, all)
        .at("islands.fragments");
  for (int64_t f = 0; f <= fragments; ++f) begins_.push_back(all * f / fragments);
}

int64_t FragmentLayout::elements(int fragment) const {
  const auto f = static_cast<size_t>(fragment);
  return begins_[f + 1] - begins_[f];
}

template <typename F>
void FragmentLayout::for_each_part(int fragment, F&& f) const {
  const int64_t begin = begins_[static_cast<size_t>(fragment)], end = begin + elements(fragment);
  for (const Part& part : parts_) {
    const int64_t first = std::max(begin, part.begin);
    const int64_t last = std::min(end, part.begin + part.parameter->type.num_elements());
    if (first < last) f(part, first - part.begin, last - first, first - begin);
  }
}

std::vector<double> FragmentLayout::read(const Executor& executor, int fragment) const {
  std::vector<double> values(static_cast<size_t>(elements(fragment)));
  for_each_part(fragment, [&](const Part& part, int64_t first, int64_t count, int64_t to) {
    const std::vector<double> all = to_doubles(part.master->type, bytes_of(executor, *part.master));
    std::copy_n(all.begin() + first, count, values.begin() + to);
  });
  return values;
}

void FragmentLayout::write(Executor& executor, int fragment, std::span<const double> values,
                           bool averages) const {
  for_each_part(fragment, [&](const Part& part, int64_t first, int64_t count, int64_t from) {
    std::vector<double> all = to_doubles(part.master->type, bytes_of(executor, *part.master));
    std::copy_n(values.begin() + from, count, all.begin() + first);
    write_values(executor, *part.master, all);
    if (part.parameter != part.master) write_values(executor, *part.parameter, all);
    if (averages && part.average) write_values(executor, *part.average, all);
  });
}

}  // namespace tessera
