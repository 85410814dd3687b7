// SPDX-License-Identifier: Apache-2.0
// First values: a pure function of (seed, full name, element index), rounded to the state's dtype.
#include <algorithm>
#include <vector>

#include "core/random.h"
#include "exec/executor.h"

namespace tessera {
namespace {

// Master weights and averages begin as their parameter does, unrounded, from the same random
// numbers.
const StateBuffer& origin_of(const HostView& program, const StateBuffer& state) {
  if (state.spec.init.kind != Init::Kind::OfParameter) return state;
  const StateBuffer* parameter = program.find_state(state.spec.parameter);
  TESSERA_CHECK(parameter, "{} belongs to {}, which does not exist", state.name,
                state.spec.parameter);
  return *parameter;
}

template <typename T>
void fill(std::span<T> values, const StateBuffer& origin, uint64_t seed) {
  const Init& init = origin.spec.init;
  const RandomStream stream(seed, origin.name);
  for (size_t i = 0; i < values.size(); ++i) {
    double value = init.kind == Init::Kind::Ones ? 1.0 : 0.0;
    if (init.kind == Init::Kind::Normal) value = init.deviation * stream.normal(i);
    values[i] = store<T>(static_cast<Accumulator<T>>(value));
  }
}

}  // namespace

void initialise_states(Executor& executor, uint64_t seed) {
  const HostView& program = executor.program();
  auto* maker = dynamic_cast<FirstValueMaker*>(&executor);
  std::vector<std::byte> bytes;
  for (const StateBuffer& state : program.states) {
    const StateBuffer& origin = origin_of(program, state);
    if (maker && maker->make_first_value(state, origin, seed)) continue;
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    dispatch_float(state.type.dtype, [&]<typename T>() {
      fill(std::span<T>(reinterpret_cast<T*>(bytes.data()),
                        static_cast<size_t>(state.type.num_elements())),
           origin, seed);
    });
    executor.write_state(state, bytes);
  }
}

}  // namespace tessera
