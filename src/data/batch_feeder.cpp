// SPDX-License-Identifier: Apache-2.0
#include "data/batch_feeder.h"

namespace tessera {

BatchFeeder::BatchFeeder(Executor& executor, std::span<const InputField> fields,
                         int64_t samples_per_batch)
    : executor_(executor) {
  const HostView& program = executor.program();
  for (const HostBuffer& input : program.batch_inputs) {
    size_t field = 0;
    while (field < fields.size() && fields[field].name != input.name) ++field;
    TESSERA_CHECK(field < fields.size(), "the data has no {}", input.name);
    TESSERA_CHECK(fields[field].dtype == input.type.dtype, "{}", input.name);
    TESSERA_CHECK(fields[field].elements * samples_per_batch ==
                      input.whole.num_elements() * program.microbatches,
                  "{}", input.name);
    routes_.push_back({&input, field});
  }
}

void BatchFeeder::feed(const Batch& batch) {
  for (const Route& route : routes_) {
    const auto bytes = static_cast<size_t>(route.input->whole.bytes());
    for (int microbatch = 0; microbatch < executor_.program().microbatches; ++microbatch)
      executor_.write_batch(
          *route.input, microbatch,
          batch.bytes(route.field).subspan(static_cast<size_t>(microbatch) * bytes, bytes));
  }
}

}  // namespace tessera
