// SPDX-License-Identifier: Apache-2.0
#include "data/batch.h"

namespace tessera {

Batch::Batch(std::span<const InputField> fields, int64_t num_samples)
    : fields_(fields.begin(), fields.end()), num_samples_(num_samples) {
  for (const InputField& field : fields_)
    columns_.emplace_back(
        static_cast<size_t>(num_samples * field.elements * size_bytes(field.dtype)));
}

size_t Batch::field_index(std::string_view name) const {
  for (size_t i = 0; i < fields_.size(); ++i)
    if (fields_[i].name == name) return i;
  check_failed("the batch has the field", __FILE__, __LINE__, std::string(name));
}

void fill_batch(const SampleSource& source, int64_t first_sample, Batch& batch) {
  batch.first_sample = first_sample;
  for (int64_t row = 0; row < batch.num_samples(); ++row)
    source.fill(first_sample + row, batch, row);
}

}  // namespace tessera
