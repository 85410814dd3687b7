// SPDX-License-Identifier: Apache-2.0
#include "verify/perturb_weights.h"

#include <vector>

#include "core/dtype.h"
#include "core/random.h"

namespace tessera {

void perturb_weights(Executor& executor, double part, uint64_t seed) {
  std::vector<std::byte> bytes;
  for (const StateBuffer& state : executor.program().states) {
    const bool is_parameter = state.spec.role == StateRole::Parameter;
    if (!is_parameter && state.spec.role != StateRole::Master) continue;
    // A master copy and its parameter move together.
    const RandomStream random(seed, is_parameter ? state.name : state.spec.parameter);
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    executor.read_state(state, bytes);
    dispatch_float(state.type.dtype, [&]<typename T>() {
      auto* values = reinterpret_cast<T*>(bytes.data());
      for (size_t i = 0; i < static_cast<size_t>(state.type.num_elements()); ++i) {
        const double factor = 1 + part * (2 * random.uniform(i) - 1);
        values[i] = store<T>(static_cast<Accumulator<T>>(load(values[i]) * factor));
      }
    });
    executor.write_state(state, bytes);
  }
}

}  // namespace tessera
