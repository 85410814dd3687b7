// SPDX-License-Identifier: Apache-2.0
// Continues prompts, token by token. Keys and values of all positions are kept in a planned cache:
// after the prompt, a token costs one pass over the weights, and a prompt that goes on from the
// last text costs its new tokens alone. Where a text outgrows the window, its last half begins a
// new one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/device_kind.h"
#include "exec/executor.h"
#include "inference/token_choice.h"
#include "mesh/plan.h"
#include "models/model_config.h"

namespace tessera {

struct GenerateOptions {
  int64_t tokens = 200;
  TokenChoice choice = {};
  uint64_t seed = 1;
  int64_t first_draw = 0;  // random numbers of the seed that are passed over
  // Of a single text: tokens with which the last one began, too, are not computed again.
  bool continues = false;
};

// The window for a text of N tokens, prompt included, by a model that sees `seq`: what lies
// after the text would be kept for nothing.
int64_t window_for(int64_t text_tokens, int64_t seq);

struct GeneratorOptions {
  int64_t window = 0;  // tokens of a text that the model sees at once
  int64_t texts = 1;   // that are written together
  int threads = 1;     // of each rank
  DeviceKind device = DeviceKind::Cpu;
  Plan plan = {};  // over which ranks; by default there is one
};

class TextGenerator {
 public:
  TextGenerator(const ModelConfig& model, DType precision, GeneratorOptions options);

  // Who writes other weights must not continue a text.
  Executor& executor() { return *executor_; }
  int64_t window() const { return options_.window; }
  void copy_parameters(const Executor& trained);

  // One prompt for each text. Calls `emit` with each new token of a text; a text for which it
  // returns false ends, and all do after options.tokens. A UserError where the model computes NaN.
  void generate(std::vector<std::vector<int32_t>> prompts, const GenerateOptions& options,
                const std::function<bool(size_t text, int32_t token)>& emit);
  // Of a single text.
  void generate(std::vector<int32_t> prompt, const GenerateOptions& options,
                const std::function<bool(int32_t)>& emit);
  // Tokens of the last prompt that were computed: those that the cache did not hold.
  int64_t computed_tokens() const { return computed_tokens_; }

 private:
  using Texts = std::vector<std::vector<int32_t>>;
  // What a program does in one run: tokens of each text that begin it, or that go on from the
  // cache.
  struct Reading {
    int64_t tokens = 1;
    bool begins = false;
    auto operator<=>(const Reading&) const = default;
  };

  const std::vector<Program>& programs_for(Reading reading);
  void take_programs(Reading reading);
  void begin(const Texts& texts);
  void read_rest(const std::vector<int32_t>& text);
  void go_on(const Texts& texts);
  int64_t tokens_at_once(int64_t left, int64_t room) const;
  void run(const std::vector<int32_t>& tokens, const std::vector<int32_t>& positions,
           const std::vector<int32_t>& last);
  std::vector<double> logits_of(size_t text) const;

  ModelConfig model_;
  DType precision_;
  GeneratorOptions options_;
  std::map<Reading, std::vector<Program>> programs_;
  Reading reading_;  // of the programs that the executor has
  std::unique_ptr<Executor> executor_;
  std::vector<int64_t> dropped_;  // by text: tokens before those that the model sees
  std::vector<int32_t> held_;     // of a single text: tokens in the cache, from its first position
  int64_t computed_tokens_ = 0;
  std::vector<std::byte> output_;
};

}  // namespace tessera
