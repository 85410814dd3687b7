// SPDX-License-Identifier: Apache-2.0
// How near a model's writing comes to what its device allows: after the prompt every token reads
// all weights once, and a prompt is products over all of its tokens.
#pragma once

#include "inference/text_generator.h"

namespace tessera {

// Tokens after the first one that are not timed: the first time, programs are compiled and
// captured.
inline constexpr int64_t kUncounted = 3;

struct GenerationBenchOptions {
  int64_t prompt_tokens = 128, tokens = 128;  // of each text
  int rounds = 3;                             // after one that is not counted
};

struct GenerationBench {
  double weight_bytes = 0;         // of all parameters
  double prompt_flops = 0;         // of the products that a prompt needs, with causal attention
  double first_token_seconds = 0;  // the prompt, and the choice of a token; median of the rounds
  double later_token_seconds = 0;  // of a token of each text
  int64_t planned_bytes = 0;
};

// Of random weights; the most likely token each time.
GenerationBench bench_generation(const ModelConfig& model, DType precision,
                                 GeneratorOptions generator, const GenerationBenchOptions& options);

}  // namespace tessera
