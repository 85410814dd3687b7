// SPDX-License-Identifier: Apache-2.0
#include "data/stream_sampler.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"

namespace tessera {
namespace {

int64_t permuted(int64_t size, const RandomStream& keys, int64_t position) {
  return static_cast<int64_t>(
      Permutation(static_cast<uint64_t>(size), keys)(static_cast<uint64_t>(position)));
}

}  // namespace

StreamSampler::StreamSampler(const TokenSource& source, StreamSamplerOptions options)
    : source_(source),
      options_(options),
      block_(options.shuffles ? std::max<int64_t>(1, options.block_tokens / options.seq) : 1),
      fields_(token_fields(options.seq)) {
  TESSERA_CHECK(options.seq > 0 && options.begin >= 0);
  const int64_t tokens = tokens_up_to(options.seq + 1);
  if (tokens < options.seq + 1)
    throw user_error("seq ({}) is too long: one sample needs seq + 1 tokens, but the data has {}",
                     options.seq, tokens)
        .at("train.seq")
        .help("use a smaller train.seq, or more text");
}

int64_t StreamSampler::tokens_up_to(int64_t end) const {
  end += options_.begin;
  return source_.tokens_up_to(options_.end ? std::min(end, *options_.end) : end) - options_.begin;
}

int64_t StreamSampler::window_begin(int64_t sample_index) const {
  TESSERA_CHECK(sample_index >= 0);
  const int64_t seq = options_.seq, block = sample_index / block_;
  const int64_t wanted = (block + 1) * block_ * seq + 1;
  const int64_t tokens = tokens_up_to(wanted);
  // Fewer: these are all, and the block, if there is one at all, is the last.
  const int64_t windows = (tokens - 1) / seq;
  const RandomStream epochs(options_.seed, "data_order");
  int64_t window = sample_index;
  if (sample_index >= windows) {  // a later epoch
    const int64_t epoch = sample_index / windows;
    window = sample_index % windows;
    if (options_.shuffles)
      window = permuted(windows, {epochs.bits(static_cast<uint64_t>(epoch)), "epoch"}, window);
  } else if (options_.shuffles) {
    const int64_t first = block * block_;
    const RandomStream blocks(epochs.bits(0), "data_blocks");
    window = first + permuted(std::min(block_, windows - first),
                              {blocks.bits(static_cast<uint64_t>(block)), "block"},
                              sample_index - first);
  }
  return options_.begin + window * seq;
}

void StreamSampler::fill(int64_t sample_index, Batch& batch, int64_t row) const {
  fill_window(source_, window_begin(sample_index), options_.document_mask, batch, row);
}

}  // namespace tessera
