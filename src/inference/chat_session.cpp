// SPDX-License-Identifier: Apache-2.0
#include "inference/chat_session.h"

#include <algorithm>
#include <chrono>

#include "chat/conversation.h"
#include "core/error.h"
#include "core/utf8_stream.h"
#include "inference/stop_text.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";

std::string_view without_space_before(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
  return text;
}

std::string trimmed(std::string_view text) {
  text = without_space_before(text);
  return std::string(text.substr(0, text.find_last_not_of(kWhiteSpace) + 1));
}

bool is_system(const Json& message) {
  const std::string role = role_of(message);
  return role == "system" || role == "developer";
}

// Messages at the begin that are kept whatever is left out.
size_t count_lead(std::span<const Json> messages) {
  return static_cast<size_t>(std::ranges::find_if_not(messages, is_system) - messages.begin());
}

// The first message of the turn after the one that begins at `from`; `from` in the last one.
size_t next_turn(std::span<const Json> messages, size_t from) {
  for (size_t i = from + 1; i < messages.size(); ++i)
    if (role_of(messages[i]) == "user") return i;
  return from;
}

Json without(std::span<const Json> messages, size_t lead, size_t left_out) {
  std::vector<Json> kept(messages.begin(), messages.end());
  const auto first = kept.begin() + static_cast<std::ptrdiff_t>(lead);
  kept.erase(first, first + static_cast<std::ptrdiff_t>(left_out));
  return Json::array(std::move(kept));
}

}  // namespace

ChatSession::ChatSession(TextGenerator& generator, const ChatTemplate& chat, const TokenText& words,
                         std::vector<int32_t> ends)
    : generator_(generator),
      chat_(chat),
      words_(words),
      encoder_(chat, words.tokenizer()),
      ends_(std::move(ends)) {
  if (const std::optional<int32_t> end = encoder_.answer_end()) ends_.push_back(*end);
  // A model that was never taught to talk goes on with what the other one may say.
  if (chat.source() == kPlainChatTemplate) stops_ = {"\nUser:"};
}

bool ChatSession::ends(int32_t token) const {
  return std::ranges::find(ends_, token) != ends_.end();
}

std::string ChatSession::text_of(std::span<const Json> messages, bool opens_answer) const {
  const Json kept = without(messages, count_lead(messages), left_out_.size());
  return chat_.apply(kept, {.opens_answer = opens_answer, .variables = {}, .now = {}}).text;
}

// Parts that the session knows keep their tokens, also where an encoder would cut an answer in
// another way than the model wrote it.
std::vector<int32_t> ChatSession::prompt_tokens(std::span<const Json> messages) {
  const std::string text = text_of(messages, /*opens_answer=*/true);
  std::vector<int32_t> tokens;
  size_t known = 0, at = 0;
  for (; known < parts_.size(); ++known) {
    const Part& part = parts_[known];
    if (text.compare(at, part.text.size(), part.text) != 0) break;
    at += part.text.size();
    tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
  }
  parts_.resize(known);
  parts_.push_back({text.substr(at), encoder_.tokens_of(std::string_view(text).substr(at))});
  tokens.insert(tokens.end(), parts_.back().tokens.begin(), parts_.back().tokens.end());
  if (tokens.empty())
    throw UserError("the chat template writes nothing before an answer")
        .at(chat_.origin())
        .help("its text is what the model continues: --template plain, or another file");
  return tokens;
}

// Turns that were left out before stay so, as long as the conversation begins with them. Where
// there are more to leave out, half of the window becomes free, since all that is kept has to be
// read again then.
void ChatSession::leave_out(std::span<const Json> messages, const AnswerOptions& options) {
  const size_t lead = count_lead(messages);
  const std::span<const Json> turns = messages.subspan(lead);
  if (left_out_.size() >= turns.size() ||
      !std::ranges::equal(left_out_, turns.first(left_out_.size())))
    left_out_.clear();
  const int64_t window = generator_.window();
  int64_t most = window - std::min(options.tokens, window / 4);
  for (size_t first = left_out_.size();;) {
    const auto size = std::ssize(prompt_tokens(messages));
    if (size <= most) return;
    const size_t next = next_turn(turns, first);
    if (next == first) {
      if (size < window) return;
      throw user_error("the message takes {} tokens, of a window of {}", size, window)
          .help("shorten it or what the system says, or give a larger --window");
    }
    left_out_.assign(turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(next));
    first = next;
    most = window / 2;
  }
}

// Not those that ended it.
std::vector<int32_t> ChatSession::shown_tokens(const ChatAnswer& answer, size_t shown_bytes) const {
  Utf8Stream characters;
  size_t bytes = 0;
  std::vector<int32_t> tokens;
  for (const int32_t token : answer.tokens) {
    bytes += characters.add(words_.show(token)).size();
    if (ends(token) || bytes > shown_bytes) break;
    tokens.push_back(token);
  }
  return tokens;
}

// The model's tokens stand for what the template writes of the answer, whose white space may be
// another.
void ChatSession::remember(std::span<const Json> messages, const ChatAnswer& answer,
                           size_t shown_bytes) {
  if (answer.text.empty()) return;
  std::vector<Json> all(messages.begin(), messages.end());
  all.push_back({{"role", "assistant"}, {"content", answer.text}});
  const std::string before = text_of(messages, /*opens_answer=*/true);
  const std::string whole = text_of(all, /*opens_answer=*/false);
  if (!whole.starts_with(before)) return;
  const std::string_view written = std::string_view(whole).substr(before.size());
  const std::string_view text = without_space_before(written);
  if (!text.starts_with(answer.text)) return;
  const size_t space = written.size() - text.size();
  parts_.push_back({std::string(written.substr(0, space + answer.text.size())),
                    shown_tokens(answer, shown_bytes)});
}

ChatAnswer ChatSession::answer(const Json& messages, const AnswerOptions& options,
                               const std::function<bool(std::string_view)>& tell) {
  leave_out(messages.items(), options);
  const std::vector<int32_t> prompt = prompt_tokens(messages.items());
  ChatAnswer answer;
  answer.prompt_tokens = std::ssize(prompt);
  answer.left_out = std::ssize(left_out_);
  const int64_t room = generator_.window() - std::ssize(prompt);
  Utf8Stream characters;
  StopText stop(stops_);
  std::string shown;
  const auto shows = [&](const std::string& piece) {
    const bool begins = without_space_before(shown).empty();
    shown += piece;
    return std::string(begins ? without_space_before(piece) : std::string_view(piece));
  };
  answer.end = options.tokens < room ? AnswerEnd::MostTokens : AnswerEnd::WindowFull;
  const auto begin = std::chrono::steady_clock::now();
  const auto take = [&](int32_t token) {
    if (answer.tokens.empty()) answer.first_seconds = seconds_since(begin);
    answer.tokens.push_back(token);
    const bool told = tell(shows(ends(token) ? "" : stop.add(characters.add(words_.show(token)))));
    if (ends(token) || stop.stopped())
      answer.end = AnswerEnd::Finished;
    else if (!told)
      answer.end = AnswerEnd::Stopped;
    return told && answer.end != AnswerEnd::Finished;
  };
  generator_.generate(prompt,
                      {.tokens = std::min(options.tokens, room),
                       .choice = options.choice,
                       .seed = options.seed,
                       .first_draw = std::ssize(prompt),
                       .continues = true},
                      take);
  answer.computed_tokens = generator_.computed_tokens();
  answer.seconds = seconds_since(begin);
  if (!stop.stopped()) {
    std::string rest = stop.add(characters.rest());
    rest += stop.rest();
    answer.rest = shows(rest);
  }
  answer.text = trimmed(shown);
  remember(messages.items(), answer, shown.size());
  return answer;
}

}  // namespace tessera
