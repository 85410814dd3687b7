// SPDX-License-Identifier: Apache-2.0
#include "data/batch_feeder.h"

namespace tessera {
namespace {

// Models of a family and data of a config fit; those that a program brings may not.
UserError unknown_input(const std::string& name, std::span<const InputField> fields) {
  std::string known;
  for (const InputField& field : fields) known += (known.empty() ? "" : ", ") + field.name;
  return user_error("the model reads {}, but samples of the data have {}", name, known)
      .help("name the model's batch inputs as the fields of its data are named");
}

void check_fit(const HostBuffer& input, const InputField& field, int64_t elements,
               int64_t samples) {
  if (field.dtype != input.type.dtype)
    throw user_error("the model reads {} as {}, but samples of the data have it as {}", input.name,
                     name(input.type.dtype), name(field.dtype))
        .help("give the input the dtype of the data");
  if (field.elements * samples != elements)
    throw user_error(
        "the model reads {} numbers of {} for each sample, but samples of the data "
        "have {}",
        elements / samples, input.name, field.elements)
        .help("a sample of tokens has train.seq of them: [batch, seq]");
}

}  // namespace

BatchFeeder::BatchFeeder(Executor& executor, std::span<const InputField> fields,
                         int64_t samples_per_batch)
    : executor_(executor) {
  const HostView& program = executor.program();
  for (const HostBuffer& input : program.batch_inputs) {
    size_t field = 0;
    while (field < fields.size() && fields[field].name != input.name) ++field;
    if (field == fields.size()) throw unknown_input(input.name, fields);
    check_fit(input, fields[field], input.whole.num_elements() * program.microbatches,
              samples_per_batch);
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
