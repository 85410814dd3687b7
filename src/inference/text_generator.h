// SPDX-License-Identifier: Apache-2.0
// Continues prompts, token by token. Keys and values of all positions are kept in a planned cache:
// after the prompt, a token costs one pass over the weights. Where a text outgrows the window, its
// last half begins a new one.
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

  Executor& executor() { return *executor_; }
  void copy_parameters(const Executor& trained);

  // One prompt for each text. Calls `emit` with each new token of a text; a text for which it
  // returns false ends, and all do after options.tokens.
  void generate(std::vector<std::vector<int32_t>> prompts, const GenerateOptions& options,
                const std::function<bool(size_t text, int32_t token)>& emit);
  // Of a single text.
  void generate(std::vector<int32_t> prompt, const GenerateOptions& options,
                const std::function<bool(int32_t)>& emit);

 private:
  using Texts = std::vector<std::vector<int32_t>>;

  const std::vector<Program>& programs_for(int64_t tokens);
  void take_programs(int64_t tokens);
  void begin(const Texts& texts);
  void go_on(const Texts& texts);
  void run(const std::vector<int32_t>& tokens, const std::vector<int32_t>& positions,
           const std::vector<int32_t>& last);
  std::vector<double> logits_of(size_t text) const;

  ModelConfig model_;
  DType precision_;
  GeneratorOptions options_;
  std::map<int64_t, std::vector<Program>> programs_;  // by tokens of a text in one run
  int64_t tokens_at_once_ = 1;                        // of the programs that the executor has
  std::unique_ptr<Executor> executor_;
  std::vector<int64_t> dropped_;  // by text: tokens before those that the model sees
  std::vector<std::byte> output_;
};

}  // namespace tessera
