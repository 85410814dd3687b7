// SPDX-License-Identifier: Apache-2.0
// Conversations as tokens, and which of them a model is to learn. What it answers is encoded on its
// own, as it is when the model writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"
#include "chat/conversation.h"
#include "tokenizer/encoder.h"

namespace tessera {

struct ChatTokens {
  std::vector<int32_t> tokens;
  std::vector<bool> learned;  // of each token: whether the model is to predict it
};

class ChatEncoder {
 public:
  // `tokenizer` may be null: tokens are bytes then. Both must outlive it. `now` is what a template
  // takes for the present; empty: the present.
  ChatEncoder(const ChatTemplate& chat, const Tokenizer* tokenizer,
              std::optional<std::tm> now = std::nullopt);

  // The whole conversation, with the turns of these roles learned. A template that writes an
  // earlier answer in another way than the last (Qwen 3 leaves out its thoughts) makes a text of
  // its own for each such answer, up to it.
  std::vector<ChatTokens> encode(const Conversation& conversation,
                                 const std::set<std::string>& roles);
  // What the model continues with its answer.
  std::string prompt_text(const Json& messages, std::vector<JsonMember> variables = {}) const;
  std::vector<int32_t> prompt(const Json& messages, std::vector<JsonMember> variables = {});
  // The token that ends an answer; none where the template writes nothing after it.
  std::optional<int32_t> answer_end();
  // What it writes after an answer, without white space around it if there is more.
  std::string answer_end_text() const;

  std::vector<int32_t> tokens_of(std::string_view text);

 private:
  using Spans = std::vector<std::pair<size_t, size_t>>;

  std::string text_after_answer() const;
  ChatTokens encode_text(const std::string& text, const Spans& learned);

  const ChatTemplate& chat_;
  const Tokenizer* tokenizer_;
  std::optional<std::tm> now_;
  std::optional<Encoder> encoder_;
  std::set<int32_t> added_;
};

}  // namespace tessera
