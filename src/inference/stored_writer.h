// SPDX-License-Identifier: Apache-2.0
// A stored model that writes text: what `generate`, `chat` and Studio open.
#pragma once

#include <memory>
#include <string>

#include "chat/chat_template.h"
#include "config/config.h"
#include "core/device_kind.h"
#include "data/token_text.h"
#include "inference/chat_session.h"
#include "inference/stored_model.h"
#include "inference/text_generator.h"
#include "models/model_config.h"

namespace tessera {

struct WriterOptions {
  std::string from = {};
  std::string base = {};       // of adapters; empty: the one that they name
  std::string tokenizer = {};  // empty: the one next to the model
  std::string mesh = {};       // over tp; empty: one rank
  DeviceKind device = DeviceKind::Cpu;
  int64_t threads = 0;  // of all ranks; 0: all cores
  bool averaged = false;
};

class StoredWriter {
 public:
  // A UserError where the model cannot write, or not there.
  explicit StoredWriter(WriterOptions options);

  const StateSource& stored() const { return *stored_; }
  const Config& config() const { return config_; }
  const ModelConfig& model() const { return model_; }
  const TokenText& words() const { return *words_; }

  // With its weights, for texts that are written together.
  std::unique_ptr<TextGenerator> generator(int64_t window, int64_t texts = 1) const;

 private:
  WriterOptions options_;
  std::unique_ptr<StateSource> stored_;
  Config config_;
  ModelConfig model_;
  std::unique_ptr<TokenText> words_;
};

struct StoredChatOptions {
  WriterOptions writer = {};
  std::string chat_template = {};  // as for read_chat_template
  int64_t window = 0;  // tokens of a conversation that the model sees; 0: default_window
};

// A stored model that talks.
class StoredChat {
 public:
  explicit StoredChat(const StoredChatOptions& options);

  const StoredWriter& writer() const { return writer_; }
  const ChatTemplate& chat_template() const { return template_; }
  int64_t window() const { return generator_->window(); }
  // What a person should know before the first answer; empty: nothing.
  const std::string& note() const { return note_; }

  ChatSession& session() { return session_; }

 private:
  StoredWriter writer_;
  ChatTemplate template_;
  std::string note_;
  std::unique_ptr<TextGenerator> generator_;
  ChatSession session_;
};

}  // namespace tessera
