// SPDX-License-Identifier: Apache-2.0
#include "cli/studio_service.h"

#include "serve/page_files.h"
#include "studio/answers.h"

namespace tessera {
namespace {

// UserErrors are answers; other exceptions are the server's.
PageReply reply_to(const QuestionKind& kind, const StudioRuns& runs, std::string_view body,
                   const TellPage& tell) {
  try {
    Question question = parse_question(body);
    question.runs = runs.folders;
    question.started = runs.started;
    question.chat = runs.chat;
    question.tell = [&](const Json& part) {
      return tell(kind.streams && !part.is_null() ? part.dump() : "");
    };
    Answer answer = kind.answer(question);
    if (answer.json.find("columns"))
      return {.type = "application/octet-stream", .body = packed(answer)};
    if (kind.streams) answer.json["done"] = true;
    return {.body = answer.json.dump()};
  } catch (const UserError& error) {
    Json json = error_json(error);
    if (kind.streams) json["done"] = true;
    return {.status = 400, .body = json.dump()};
  }
}

// Questions of which one at a time runs, by what they have in common.
std::string alone_as(std::string_view kind) {
  if (kind == "search" || kind == "why_not") return "search";
  return kind == "generate" || kind == "chat" ? "generate" : "";
}

}  // namespace

PageService studio_service(const std::string& page_folder, const StudioRuns& runs) {
  return {.file = page_folder.empty() ? find_embedded_file : files_of_folder(page_folder),
          .question = [runs](std::string_view name) -> std::optional<PageQuestion> {
            for (const QuestionKind& kind : question_kinds())
              if (kind.name == name)
                return PageQuestion{.answer =
                                        [&kind, runs](std::string_view body, const TellPage& tell) {
                                          return reply_to(kind, runs, body, tell);
                                        },
                                    .streams = kind.streams,
                                    .alone = alone_as(kind.name)};
            return {};
          }};
}

}  // namespace tessera
