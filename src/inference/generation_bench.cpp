// SPDX-License-Identifier: Apache-2.0
#include "inference/generation_bench.h"

#include <chrono>
#include <limits>

#include "core/random.h"
#include "core/statistics.h"
#include "models/model_size.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

std::vector<int32_t> random_tokens(int64_t count, int64_t vocabulary) {
  const RandomStream draws(1, "prompt");
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<int32_t>(
        draws.below(static_cast<uint64_t>(i), static_cast<uint64_t>(vocabulary))));
  return tokens;
}

// The forward is a third of a training step's flops; the head multiplies the last token alone.
double flops_of_prompt(const ModelConfig& model, int64_t tokens) {
  const double head = 2.0 * static_cast<double>(model.vocabulary * model.width);
  const double all = flops_per_token(model, tokens).causal / 3;
  return static_cast<double>(tokens) * (all - head) + head;
}

}  // namespace

GenerationBench bench_generation(const ModelConfig& model, DType precision,
                                 GeneratorOptions generator,
                                 const GenerationBenchOptions& options) {
  generator.window =
      window_for(options.prompt_tokens + options.tokens, std::numeric_limits<int64_t>::max());
  TextGenerator writer(model, precision, generator);
  initialise_states(writer.executor(), 1);
  const std::vector<std::vector<int32_t>> prompts(
      static_cast<size_t>(generator.texts), random_tokens(options.prompt_tokens, model.vocabulary));
  std::vector<double> first, later;
  for (int round = 0; round <= options.rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    double until_first = 0, until_second = 0;
    int64_t written = 0;
    writer.generate(prompts, {.tokens = options.tokens, .choice = {.temperature = 0}},
                    [&](size_t text, int32_t) {
                      if (text + 1 != prompts.size()) return true;
                      ++written;
                      if (written == 1) until_first = seconds_since(begin);
                      if (written == kUncounted) until_second = seconds_since(begin);
                      return true;
                    });
    if (round == 0) continue;
    first.push_back(until_first);
    later.push_back((seconds_since(begin) - until_second) /
                    static_cast<double>(options.tokens - kUncounted));
  }
  return {.weight_bytes = static_cast<double>(parameter_count(model)) *
                          static_cast<double>(size_bytes(precision)),
          .prompt_flops =
              flops_of_prompt(model, options.prompt_tokens) * static_cast<double>(generator.texts),
          .first_token_seconds = median(first),
          .later_token_seconds = median(later),
          .planned_bytes = writer.executor().planned_bytes()};
}

}  // namespace tessera
