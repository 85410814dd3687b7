// SPDX-License-Identifier: Apache-2.0
// Text that the model writes while it is trained, so that a person sees it learn.
#pragma once

#include <memory>

#include "data/chat_source.h"
#include "data/token_text.h"
#include "inference/text_generator.h"
#include "train/run_outputs.h"

namespace tessera {

class SampleWriter {
 public:
  SampleWriter(const Config& config, const ModelConfig& model, int threads);

  // Whether the config asks for samples and the model's tokens are text.
  bool writes() const { return writes_; }
  // After this step, whose held-out loss was computed or not.
  bool due(int64_t step, bool evaluated) const;
  // Of conversations the answer to `prompt`, where there is one.
  void write(const Executor& trained, int64_t step, const std::optional<ChatPrompt>& prompt,
             RunOutputs& outputs);

 private:
  const Config& config_;
  const ModelConfig& model_;
  int threads_;
  TokenText text_;
  bool writes_;
  std::unique_ptr<TextGenerator> generator_;  // made for the first sample
};

}  // namespace tessera
