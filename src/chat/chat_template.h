// SPDX-License-Identifier: Apache-2.0
// Turns conversations into the text that a model was trained on, by the template that comes with
// its tokenizer: as transformers' apply_chat_template does, with its settings of Jinja.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja_syntax.h"
#include "files/json.h"

namespace tessera {

struct ChatText {
  std::string text;
  // What the template itself marks as written by the model: begin and end in the text.
  std::vector<std::pair<size_t, size_t>> generated;
};

struct ChatTextOptions {
  bool opens_answer = false;  // transformers' add_generation_prompt
  // Further variables: tools, documents, enable_thinking, ...
  std::vector<JsonMember> variables;
  std::optional<std::tm> now;  // what strftime_now shows; empty: the present
};

class ChatTemplate {
 public:
  // `variables`: bos_token, eos_token and others that the tokenizer has. A UserError where the
  // template uses what docs/chat.md does not list; `origin` names it.
  ChatTemplate(std::string_view source, std::string origin, std::vector<JsonMember> variables = {});

  const std::string& source() const { return source_; }
  // The file that it is from, or "plain" or "marked" for one of ours.
  const std::string& origin() const { return origin_; }
  // Whether it marks what the model writes, by {% generation %}.
  bool marks_generated() const;

  // `messages`: a list of {"role": ..., "content": ...}.
  ChatText apply(const Json& messages, const ChatTextOptions& options = {}) const;

 private:
  std::string source_, origin_;
  std::vector<JsonMember> variables_;
  JinjaBody body_;
};

// Where a tokenizer has no template: plain text with the name of who speaks. A turn ends with
// eos_token, or, without one, with the control character for the end of a text.
extern const char* const kPlainChatTemplate;
// With <|im_start|> and <|im_end|>, for tokenizers that have these tokens.
extern const char* const kMarkedChatTemplate;

}  // namespace tessera
