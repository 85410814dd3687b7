// SPDX-License-Identifier: Apache-2.0
// The inputs of one step, a column per input of the model, rows in sample order; and the interface
// of whatever fills them. A row is a pure function of its sample index, so any run may begin at any
// sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"

namespace tessera {

struct InputField {
  std::string name;  // of the model's input
  DType dtype = DType::Int32;
  int64_t elements = 0;  // per sample
};

class Batch {
 public:
  Batch(std::span<const InputField> fields, int64_t num_samples);

  int64_t num_samples() const { return num_samples_; }
  std::span<const InputField> fields() const { return fields_; }
  std::span<const std::byte> bytes(size_t field) const { return columns_[field]; }
  size_t field_index(std::string_view name) const;

  // The elements of one sample; T is the field's type.
  template <typename T>
  std::span<T> row(size_t field, int64_t sample) {
    const InputField& f = fields_[field];
    TESSERA_CHECK(dtype_of<T>() == f.dtype && sample >= 0 && sample < num_samples_, "{} row {}",
                  f.name, sample);
    return {reinterpret_cast<T*>(columns_[field].data()) + sample * f.elements,
            static_cast<size_t>(f.elements)};
  }

  int64_t first_sample = 0;  // global index of row 0

 private:
  std::vector<InputField> fields_;
  int64_t num_samples_;
  std::vector<std::vector<std::byte>> columns_;
};

// Where samples come from: windows of tokens, mixtures of them, or synthetic regression data. There
// is a sample for every index: a finite source starts over.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::span<const InputField> fields() const = 0;
  virtual void fill(int64_t sample_index, Batch& batch, int64_t row) const = 0;
};

// Rows [0, num_samples) become samples first_sample, first_sample + 1, ...
void fill_batch(const SampleSource& source, int64_t first_sample, Batch& batch);

}  // namespace tessera
