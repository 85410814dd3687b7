// SPDX-License-Identifier: Apache-2.0
// The loop over tokens of a router's losses. Terms are summed in double, by chunk, then chunk after
// chunk.
#pragma once

#include "exec/cpu/cpu_call.h"
#include "ops/moe/router_loss.h"

namespace tessera {

// term(token, factor, scratch): the token's term. `factor` is what its gradient is multiplied by,
// where result 1, the gradient, is wanted.
template <typename S, typename Term>
void router_loss(const CpuCall& call, double label_count, Term&& term) {
  const TensorType& logits = *call.operand(0).type;
  const int64_t tokens = logits.num_elements() / logits.dims.back().size;
  const RouterLossWorkspace sizes(logits);
  const RowChunks chunks(tokens);
  double* partials = reinterpret_cast<double*>(call.workspace.data());
  const double factor = label_count > 0 ? call.attributes.real("coefficient") / label_count : 0.0;
  call.threads.run(chunks.count(), [&](int64_t chunk, int worker) {
    S* scratch = reinterpret_cast<S*>(call.workspace.data() + sizes.partial_bytes +
                                      worker * sizes.scratch_bytes);
    double sum = 0;
    for (int64_t t = chunks.begin(chunk); t < chunks.end(chunk); ++t)
      sum += static_cast<double>(term(t, static_cast<S>(factor), scratch));
    partials[chunk] = sum;
  });
  double sum = 0;
  for (int64_t chunk = 0; chunk < chunks.count(); ++chunk) sum += partials[chunk];
  double& loss = *call.result(0).as<double>();
  loss = (call.accumulates(0) ? loss : 0.0) + factor * sum;
}

}  // namespace tessera
