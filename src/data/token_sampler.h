// SPDX-License-Identifier: Apache-2.0
// Samples of a TokenSource: windows of seq + 1 tokens, inputs the first seq, labels the last seq.
// The order is a shuffle computed from the global sample index, a new one each epoch. The held-out
// tokens are the last of the source, or those that the source specifies, and are in no training
// sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch.h"
#include "data/token_source.h"

namespace tessera {

enum class Split : uint8_t { Train, HeldOut };

struct TokenSamplerOptions {
  int64_t seq = 0;
  uint64_t seed = 0;
  double held_out = 0;  // fraction of the tokens, [0, 1); above 0 at least one sample is held out
  bool document_mask = false;  // tokens see only their own document
  Split split = Split::Train;
};

inline constexpr int32_t kIgnoredLabel = -1;

// The held-out tokens of `tokens`; 0 if the share is 0, else enough for a sample.
int64_t held_out_tokens(int64_t tokens, double share, int64_t seq);

// seq elements each.
struct TokenSample {
  std::span<int32_t> tokens;
  std::span<int32_t> labels;  // kIgnoredLabel where the next token is not learned, or belongs to
                              // another document (with document_mask)
  std::span<int32_t>
      positions;  // in the window; with document_mask in the part of the document in it
  std::span<int32_t> document;  // 0, 1, ... in the window; all 0 without document_mask
};

// The sample of the window of seq + 1 tokens that begins at `begin`.
void fill_window(const TokenSource& source, int64_t begin, bool document_mask,
                 const TokenSample& sample);
// The same into a row of a batch with these fields.
std::vector<InputField> token_fields(int64_t seq);
void fill_window(const TokenSource& source, int64_t begin, bool document_mask, Batch& batch,
                 int64_t row);

class TokenSampler : public SampleSource {
 public:
  // `source` must outlive the sampler.
  TokenSampler(const TokenSource& source, TokenSamplerOptions options);

  std::span<const InputField> fields() const override { return fields_; }
  int64_t samples_per_epoch() const { return samples_; }
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override;
  void fill(int64_t sample_index, const TokenSample& sample) const;

  // First token of the window that a sample reads.
  int64_t window_begin(int64_t sample_index) const;

 private:
  const TokenSource& source_;
  TokenSamplerOptions options_;
  int64_t begin_ = 0;  // first token of the split
  int64_t samples_ = 0;
  std::vector<InputField> fields_;
};

}  // namespace tessera
