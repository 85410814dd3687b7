// SPDX-License-Identifier: Apache-2.0
// Answers in a conversation. What was read and written before is in the generator's cache, so a
// turn costs its own tokens alone. Where the conversation outgrows the window, its oldest turns are
// left out, and what the system said is kept. An answer follows from the conversation, the options
// and what this session wrote before.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_encoder.h"
#include "chat/chat_template.h"
#include "data/token_text.h"
#include "files/json.h"
#include "inference/text_generator.h"

namespace tessera {

struct AnswerOptions {
  int64_t tokens = 512;  // at most
  TokenChoice choice = {};
  uint64_t seed = 1;
};

enum class AnswerEnd : uint8_t { Finished, MostTokens, WindowFull, Stopped };
inline constexpr std::array<std::string_view, 4> kAnswerEnds{"finished", "max_tokens",
                                                             "window_full", "stopped"};
constexpr std::string_view name(AnswerEnd end) { return kAnswerEnds[static_cast<size_t>(end)]; }

struct ChatAnswer {
  std::string text;             // without white space around it
  std::string rest;             // of what was told: its end, where it waited for a next token
  std::vector<int32_t> tokens;  // all that were written, the last one that ends it included
  AnswerEnd end = AnswerEnd::Finished;
  int64_t prompt_tokens = 0;    // that the model saw before it
  int64_t computed_tokens = 0;  // of these, those that were not in the cache
  int64_t left_out = 0;         // messages at the begin of the conversation that do not fit
  double first_seconds = 0, seconds = 0;  // until the first token, and the last
};

class ChatSession {
 public:
  // `ends`: tokens that end an answer besides the template's own. All but these must outlive it.
  ChatSession(TextGenerator& generator, const ChatTemplate& chat, const TokenText& words,
              std::vector<int32_t> ends);

  // `messages` ends with what is to be answered. After each token `tell` receives the text that is
  // known with it, maybe none: whole characters, without white space at the begin. Where it returns
  // false, the answer ends. A UserError where the last message alone is longer than the window.
  ChatAnswer answer(const Json& messages, const AnswerOptions& options,
                    const std::function<bool(std::string_view)>& tell);

 private:
  // A part of the text so far, as the template writes it, with its tokens: what was read, and after
  // it an answer in the tokens that the model chose for it.
  struct Part {
    std::string text;
    std::vector<int32_t> tokens;
  };

  void leave_out(std::span<const Json> messages, const AnswerOptions& options);
  std::string text_of(std::span<const Json> messages, bool opens_answer) const;
  std::vector<int32_t> prompt_tokens(std::span<const Json> messages);
  bool ends(int32_t token) const;
  std::vector<int32_t> shown_tokens(const ChatAnswer& answer, size_t shown_bytes) const;
  void remember(std::span<const Json> messages, const ChatAnswer& answer, size_t shown_bytes);

  TextGenerator& generator_;
  const ChatTemplate& chat_;
  const TokenText& words_;
  ChatEncoder encoder_;
  std::vector<int32_t> ends_;
  std::vector<std::string> stops_;
  std::vector<Json> left_out_;
  std::vector<Part> parts_;
};

}  // namespace tessera
