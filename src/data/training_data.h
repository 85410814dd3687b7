// SPDX-License-Identifier: Apache-2.0
// The samples of a config, training and held-out, and the sources that they are read from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/batch.h"
#include "data/chat_source.h"
#include "data/text_tokens.h"
#include "data/token_source.h"
#include "models/model_config.h"

namespace tessera {

struct TrainingData {
  std::vector<std::unique_ptr<TokenSource>> tokens;  // one; several of a mixture; none for an mlp
  std::vector<std::unique_ptr<TokenSource>> held_out_tokens;  // of held-out samples alone
  std::unique_ptr<SampleSource> train;
  std::unique_ptr<SampleSource> held_out;  // null when nothing is held out
  // Of conversations, which may be few: how many held-out samples there are before they repeat.
  std::optional<int64_t> held_out_samples;
  std::vector<std::string> notes;    // for the user
  std::optional<ChatPrompt> prompt;  // of conversations: what samples of text answer
};

TrainingData open_training_data(const Config& config, const ModelConfig& model, DType precision,
                                const DataProgress& progress = {});

}  // namespace tessera
