// SPDX-License-Identifier: Apache-2.0
// What the page's worker calls: room for a question, then its answer. Replies are those of the
// server: the same bytes with the same status.
#include <string>
#include <string_view>

#include "studio/answers.h"

// wasm/page.js has it: false where nobody listens any more.
extern "C" int tell_page(const char* text, size_t bytes);

namespace tessera {
namespace {

struct Exchange {
  std::string question;  // the kind, a new line, its fields as JSON
  std::string reply;
  int status = 0;
};

Exchange& exchange() {
  static Exchange only;
  return only;
}

const QuestionKind* find_kind(std::string_view name) {
  for (const QuestionKind& kind : question_kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

std::string answer_text(const QuestionKind& kind, std::string_view fields) {
  Question question = parse_question(fields);
  question.tell = [&](const Json& part) {
    const std::string text = kind.streams ? part.dump() + "\n" : "";
    return tell_page(text.data(), text.size()) != 0;
  };
  Answer answer = kind.answer(question);
  if (!answer.columns.empty()) return packed(answer);
  if (kind.streams) answer.json["done"] = true;
  return answer.json.dump();
}

void answer_question(Exchange& now) {
  const std::string_view text = now.question;
  const std::string_view name = text.substr(0, text.find('\n'));
  const QuestionKind* kind = find_kind(name);
  try {
    if (!kind)
      throw user_error("{} needs a machine, and this page has none", name)
          .help("install Tessera and start `tessera studio`");
    now.reply = answer_text(*kind, text.substr(std::min(name.size() + 1, text.size())));
    now.status = 200;
  } catch (const UserError& error) {
    Json json = error_json(error);
    if (kind && kind->streams) json["done"] = true;
    now.reply = json.dump();
    now.status = 400;
  }
}

}  // namespace
}  // namespace tessera

extern "C" {

char* make_room(size_t bytes) {
  std::string& question = tessera::exchange().question;
  question.assign(bytes, ' ');
  return question.data();
}

int answer_question() {
  tessera::Exchange& now = tessera::exchange();
  tessera::answer_question(now);
  return now.status;
}

const char* reply_text() { return tessera::exchange().reply.data(); }
size_t reply_bytes() { return tessera::exchange().reply.size(); }

}  // extern "C"
