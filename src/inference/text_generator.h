// SPDX-License-Identifier: Apache-2.0
// Continues a prompt, token by token. The model's window slides over the last tokens, as many as it
// was made for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/device_kind.h"
#include "exec/executor.h"
#include "models/model_config.h"

namespace tessera {

struct GenerateOptions {
  int64_t tokens = 200;
  double temperature = 0.8;  // 0: always the most likely token
  int64_t top_k = 0;         // 0: no restriction
  uint64_t seed = 1;
};

// The window for a text of N tokens, prompt included, by a model that sees `seq`: what lies
// after the text would be computed for every token and read by none.
int64_t window_for(int64_t text_tokens, int64_t seq);

class TextGenerator {
 public:
  TextGenerator(const ModelConfig& model, DType precision, int64_t window, int threads,
                DeviceKind device = DeviceKind::Cpu);

  Executor& executor() { return *executor_; }
  void copy_parameters(const Executor& trained);

  // Calls `emit` with each new token; stops early when it returns false.
  void generate(std::vector<int32_t> prompt, const GenerateOptions& options,
                const std::function<bool(int32_t)>& emit);

 private:
  int32_t next_token(const std::vector<int32_t>& text, const GenerateOptions& options,
                     uint64_t draw);

  std::unique_ptr<Executor> executor_;
  std::vector<int32_t> window_, positions_, document_;
  std::vector<std::byte> output_;
  std::vector<double> logits_;
};

}  // namespace tessera
