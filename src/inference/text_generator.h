// SPDX-License-Identifier: Apache-2.0
// Continues a prompt, token by token. The model's window slides over the last `seq` tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "exec/executor.h"
#include "models/model_config.h"

namespace tessera {

struct GenerateOptions {
  int64_t tokens = 200;
  double temperature = 0.8;  // 0: always the most likely token
  int64_t top_k = 0;         // 0: no restriction
  uint64_t seed = 1;
};

class TextGenerator {
 public:
  TextGenerator(const ModelConfig& model, DType precision, int64_t seq, int threads);

  Executor& executor() { return *executor_; }
  void copy_parameters(const Executor& trained);

  // Calls `emit` with each new token; stops early when it returns false.
  void generate(std::vector<int32_t> prompt, const GenerateOptions& options,
                const std::function<bool(int32_t)>& emit);

 private:
  int32_t next_token(const std::vector<int32_t>& text, const GenerateOptions& options,
                     uint64_t draw);

  int64_t seq_;
  std::unique_ptr<Executor> executor_;
  std::vector<int32_t> window_, positions_, document_;
  std::vector<std::byte> output_;
  std::vector<double> logits_;
};

}  // namespace tessera
