// SPDX-License-Identifier: Apache-2.0
#include "data/token_sampler.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace tessera {

int64_t held_out_tokens(int64_t tokens, double share, int64_t seq) {
  if (share <= 0) return 0;
  return std::max<int64_t>(std::llround(static_cast<double>(tokens) * share), seq + 1);
}

TokenSampler::TokenSampler(const TokenSource& source, TokenSamplerOptions options)
    : source_(source), options_(options) {
  TESSERA_CHECK(options.seq > 0 && options.held_out >= 0 && options.held_out < 1);
  const std::optional<int64_t> border = source.held_out_begin();
  const int64_t held_out =
      border ? source.num_tokens() - *border
             : held_out_tokens(source.num_tokens(), options.held_out, options.seq);
  // With the mask the first token of a document is no label: the last window may end with it.
  const int64_t train = source.num_tokens() - held_out + (border && options.document_mask ? 1 : 0);
  const bool training = options.split == Split::Train;
  begin_ = training ? 0 : source.num_tokens() - held_out;
  // A window needs one token more than seq; it shares that token with the window after it.
  samples_ = std::max<int64_t>(0, (training ? train : held_out) - 1) / options.seq;
  if (options.seq + 1 > source.num_tokens())
    throw user_error("seq ({}) is too long: one sample needs seq + 1 tokens, but the data has {}",
                     options.seq, source.num_tokens())
        .at("train.seq")
        .help("use a smaller train.seq, or more text");
  if (train < options.seq + 1) {
    throw user_error("the data has {} tokens, {} of them held out; one sample needs seq + 1 = {}",
                     source.num_tokens(), held_out, options.seq + 1)
        .at("data.path")
        .help("use more text, a smaller train.seq, or data.held_out=0");
  }
  fields_ = token_fields(options.seq);
}

int64_t TokenSampler::window_begin(int64_t sample_index) const {
  TESSERA_CHECK(samples_ > 0 && sample_index >= 0, "sample {} of {}", sample_index, samples_);
  const bool training = options_.split == Split::Train;
  const int64_t epoch = training ? sample_index / samples_ : 0;  // held-out order never changes
  const auto position = static_cast<uint64_t>(sample_index % samples_);
  const RandomStream epochs(options_.seed, training ? "data_order" : "held_out_order");
  const RandomStream keys(epochs.bits(static_cast<uint64_t>(epoch)), "epoch");
  const uint64_t window = Permutation(static_cast<uint64_t>(samples_), keys)(position);
  return begin_ + static_cast<int64_t>(window) * options_.seq;
}

void TokenSampler::fill(int64_t sample_index, Batch& batch, int64_t row) const {
  fill_window(source_, window_begin(sample_index), options_.document_mask, batch, row);
}

void TokenSampler::fill(int64_t sample_index, const TokenSample& sample) const {
  fill_window(source_, window_begin(sample_index), options_.document_mask, sample);
}

std::vector<InputField> token_fields(int64_t seq) {
  std::vector<InputField> fields;
  for (const char* name : {"tokens", "labels", "positions", "document"})
    fields.push_back({.name = name, .dtype = DType::Int32, .elements = seq});
  return fields;
}

void fill_window(const TokenSource& source, int64_t begin, bool document_mask, Batch& batch,
                 int64_t row) {
  fill_window(source, begin, document_mask,
              TokenSample{.tokens = batch.row<int32_t>(0, row),
                          .labels = batch.row<int32_t>(1, row),
                          .positions = batch.row<int32_t>(2, row),
                          .document = batch.row<int32_t>(3, row)});
}

void fill_window(const TokenSource& source, int64_t begin, bool document_mask,
                 const TokenSample& sample) {
  const size_t seq = sample.tokens.size();
  thread_local std::vector<int32_t> window;
  thread_local std::vector<uint8_t> opens_document;
  window.resize(seq + 1);
  opens_document.assign(document_mask ? seq + 1 : 0, 0);
  source.read(begin, window, opens_document);
  thread_local std::vector<uint8_t> learned;
  learned.resize(seq);
  source.read_learned(begin + 1, learned);

  std::copy_n(window.begin(), seq, sample.tokens.begin());
  std::copy_n(window.begin() + 1, seq, sample.labels.begin());
  int32_t document = 0;
  size_t first = 0;
  for (size_t i = 0; i < seq; ++i) {
    if (document_mask && i > 0 && opens_document[i]) {
      ++document;
      first = i;
    }
    sample.positions[i] = static_cast<int32_t>(i - first);
    sample.document[i] = document;
    if (!learned[i] || (document_mask && opens_document[i + 1])) sample.labels[i] = kIgnoredLabel;
  }
}

}  // namespace tessera
