// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_encoder.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

Json first_messages(const Json& messages, size_t count) {
  const std::span<const Json> all = messages.items();
  return Json::array({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)});
}

}  // namespace

ChatEncoder::ChatEncoder(const ChatTemplate& chat, const Tokenizer* tokenizer,
                         std::optional<std::tm> now)
    : chat_(chat), tokenizer_(tokenizer), now_(now) {
  if (!tokenizer_) return;
  encoder_.emplace(*tokenizer_);
  for (const AddedToken& token : tokenizer_->spec().added) added_.insert(token.id);
}

std::vector<int32_t> ChatEncoder::tokens_of(std::string_view text) {
  if (encoder_) return encoder_->encode(text);
  std::vector<int32_t> bytes;
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

// Of a learned span what follows its last mark, such as a line break, is not learned: the model has
// ended its answer there.
ChatTokens ChatEncoder::encode_text(const std::string& text, const Spans& learned) {
  ChatTokens encoded;
  size_t at = 0;
  const auto add = [&](size_t end, bool learns) {
    std::vector<int32_t> tokens = tokens_of(std::string_view(text).substr(at, end - at));
    const auto mark = std::find_if(tokens.rbegin(), tokens.rend(),
                                   [&](int32_t token) { return added_.contains(token); });
    const auto count =
        mark == tokens.rend() ? tokens.size() : static_cast<size_t>(tokens.rend() - mark);
    for (size_t i = 0; i < tokens.size(); ++i) encoded.learned.push_back(learns && i < count);
    encoded.tokens.insert(encoded.tokens.end(), tokens.begin(), tokens.end());
    at = end;
  };
  for (const auto& [begin, end] : learned) {
    add(begin, false);
    add(end, true);
  }
  add(text.size(), false);
  return encoded;
}

std::vector<ChatTokens> ChatEncoder::encode(const Conversation& conversation,
                                            const std::set<std::string>& roles) {
  const std::vector<JsonMember>& variables = conversation.variables;
  const ChatText whole = chat_.apply(conversation.messages, {.variables = variables, .now = now_});
  if (chat_.marks_generated() && roles == std::set<std::string>{"assistant"})
    return {encode_text(whole.text, whole.generated)};
  std::vector<ChatTokens> own;
  Spans learned;
  const std::span<const Json> messages = conversation.messages.items();
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!roles.contains(role_of(messages[i]))) continue;
    const bool answers = role_of(messages[i]) == "assistant";
    const std::string before =
        i == 0 ? ""
               : chat_
                     .apply(first_messages(conversation.messages, i),
                            {.opens_answer = answers, .variables = variables, .now = now_})
                     .text;
    const std::string upto = i + 1 == messages.size()
                                 ? whole.text
                                 : chat_
                                       .apply(first_messages(conversation.messages, i + 1),
                                              {.variables = variables, .now = now_})
                                       .text;
    if (!upto.starts_with(before))
      throw user_error("the chat template does not write message {} after what comes before it",
                       i + 1)
          .help("mark what the model writes with {% generation %} in the template");
    if (whole.text.starts_with(upto))
      learned.emplace_back(before.size(), upto.size());
    else
      own.push_back(encode_text(upto, {{before.size(), upto.size()}}));
  }
  if (!learned.empty() || own.empty()) own.push_back(encode_text(whole.text, learned));
  return own;
}

std::string ChatEncoder::prompt_text(const Json& messages,
                                     std::vector<JsonMember> variables) const {
  return chat_
      .apply(messages, {.opens_answer = true, .variables = std::move(variables), .now = now_})
      .text;
}

std::vector<int32_t> ChatEncoder::prompt(const Json& messages, std::vector<JsonMember> variables) {
  return tokens_of(prompt_text(messages, std::move(variables)));
}

std::string ChatEncoder::text_after_answer() const {
  constexpr std::string_view kAnswer = "Quite so";
  const Json messages = Json::array({Json{{"role", "user"}, {"content", "Is it?"}},
                                     Json{{"role", "assistant"}, {"content", kAnswer}}});
  const std::string text = chat_.apply(messages, {.variables = {}, .now = now_}).text;
  const size_t at = text.rfind(kAnswer);
  return at == std::string::npos ? "" : text.substr(at + kAnswer.size());
}

std::optional<int32_t> ChatEncoder::answer_end() {
  const std::vector<int32_t> after = tokens_of(text_after_answer());
  if (after.empty()) return {};
  return after.front();
}

std::string ChatEncoder::answer_end_text() const {
  constexpr const char* kBlanks = " \n\r\t";
  std::string text = text_after_answer();
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return text;
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace tessera
