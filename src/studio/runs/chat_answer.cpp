// SPDX-License-Identifier: Apache-2.0
// The question `chat`: what the newest checkpoint of a run answers in a conversation, a part for
// each token; a page that no longer listens ends it before the next token. The page sends all
// messages each time, and what the cache holds of them is not computed again.
#include <chrono>

#include "chat/conversation.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/kept_chat.h"
#include "studio/runs/order_of_run.h"
#include "studio/runs/run_folders.h"
#include "studio/runs/written_text.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

// Of roles that every template knows, with text alone.
Json asked_messages(const Json& fields) {
  const Json* messages = fields.find("messages");
  const auto wrong = [](const char* what) {
    return UserError(what)
        .at("messages")
        .help(R"(messages are {"role": "user", "content": "..."}; the last one is the user's)");
  };
  if (!messages || messages->items().empty()) throw wrong("there are no messages");
  for (const Json& message : messages->items()) {
    if (!message.is_object()) throw wrong("a message is no object");
    require_known_fields(message, {"role", "content"});
    const std::string role = role_of(message);
    if ((role != "system" && role != "user" && role != "assistant") ||
        !find_text(message, "content"))
      throw wrong("a message has no role or no content");
  }
  if (role_of(messages->items().back()) != "user") throw wrong("nobody asks anything");
  return *messages;
}

}  // namespace

Answer answer_chat(const Question& question) {
  allowed_runs(question);
  require_known_fields(question.fields,
                       {"run", "messages", "tokens", "temperature", "top_k", "top_p", "seed"});
  const FoundRun run = asked_run_folder(question, "run");
  const GenerateOptions choice = asked_choice(question.fields);
  const Json messages = asked_messages(question.fields);
  if (!run.folder.folder("checkpoints"))
    throw UserError("the run has no checkpoint yet").at(run.name).help("wait until it has saved");
  const auto tell = [&](const Json& part) { return !question.tell || question.tell(part); };
  KeptChat own;
  Json told;
  (question.chat ? *question.chat : own).use(run.path, [&](StoredChat& chat) {
    const int64_t step = chat.writer().stored().facts().position.step;
    told = Json{{"step", step}, {"window", chat.window()}, {"note", chat.note()}};
    if (!tell(told)) return;
    auto begin = std::chrono::steady_clock::now();
    const ChatAnswer answer = chat.session().answer(
        messages, {.tokens = choice.tokens, .choice = choice.choice, .seed = choice.seed},
        [&](std::string_view text) {
          const double seconds = seconds_since(begin);
          begin = std::chrono::steady_clock::now();
          return tell({{"text", text}, {"seconds", seconds}});
        });
    told = Json{{"text", answer.rest},
                {"answer", answer.text},
                {"tokens", answer.tokens},
                {"end", name(answer.end)},
                {"prompt_tokens", answer.prompt_tokens},
                {"computed_tokens", answer.computed_tokens},
                {"left_out", answer.left_out},
                {"step", step}};
  });
  return {.json = std::move(told)};
}

}  // namespace tessera
