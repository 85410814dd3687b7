// SPDX-License-Identifier: Apache-2.0
// Samples of a TokenSource in the order of its tokens, so that the first ones can be read while
// later tokens are still being made. The windows of a block of tokens are shuffled together; which
// window sample n is depends only on n, the seed and, after the first epoch, the number of tokens.
// From the second epoch on all windows are shuffled together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/batch.h"
#include "data/token_sampler.h"
#include "data/token_source.h"

namespace tessera {

inline constexpr int64_t kBlockTokens = 4 << 20;

struct StreamSamplerOptions {
  int64_t seq = 0;
  uint64_t seed = 0;
  bool document_mask = false;
  bool shuffles = true;  // false: every epoch in the order of the tokens
  int64_t block_tokens = kBlockTokens;
  // Tokens [begin, end) of the source; no end: all.
  int64_t begin = 0;
  std::optional<int64_t> end = {};
};

class StreamSampler : public SampleSource {
 public:
  // `source` must outlive the sampler. Waits for the tokens of one sample; fewer are a UserError.
  StreamSampler(const TokenSource& source, StreamSamplerOptions options);

  std::span<const InputField> fields() const override { return fields_; }
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override;

  // First token of the window that a sample reads. Waits until that is known.
  int64_t window_begin(int64_t sample_index) const;

 private:
  int64_t tokens_up_to(int64_t end) const;

  const TokenSource& source_;
  StreamSamplerOptions options_;
  int64_t block_;  // windows
  std::vector<InputField> fields_;
};

}  // namespace tessera
