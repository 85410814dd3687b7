// SPDX-License-Identifier: Apache-2.0
// Questions and answers as bytes: what a front door reads and sends.
#include "studio/answers.h"

namespace tessera {
namespace {

constexpr size_t kMostQuestionBytes = 1 << 20;
constexpr int kMostQuestionDepth = 8;

}  // namespace

Question parse_question(std::string_view text) {
  if (text.size() > kMostQuestionBytes)
    throw user_error("the question has {} bytes, but may have {}", text.size(), kMostQuestionBytes)
        .help("ask for less at once");
  Question question;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return question;
  const std::string problem = parse_json(text, kMostQuestionDepth, question.fields);
  if (!problem.empty())
    throw user_error("the question {}", problem).help("ask with one JSON object");
  if (!question.fields.is_object())
    throw UserError("the question is no JSON object").help(R"(ask with {"run": {...}})");
  return question;
}

Json error_json(const UserError& error) {
  return {{"error",
           Json{{"what", error.message()}, {"where", error.place()}, {"help", error.advice()}}}};
}

std::string packed(const Answer& answer) {
  std::string head = sorted(answer.json).dump();
  head.resize((head.size() + 3) / 4 * 4, ' ');
  std::string text;
  for (size_t byte = 0; byte < 4; ++byte)
    text += static_cast<char>(head.size() >> (8 * byte) & 0xff);
  return text + head + answer.columns;
}

}  // namespace tessera
