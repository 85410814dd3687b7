// SPDX-License-Identifier: Apache-2.0
#include "studio/answers.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/choices.h"
#include "studio/kinds.h"

namespace tessera {
namespace {

constexpr size_t kMostQuestionBytes = 1 << 20;
constexpr int kMostQuestionDepth = 8;

constexpr auto kKinds = std::to_array<QuestionKind>({
    {"keys", "every key of a config: type, choices, bounds, default, help", answer_keys},
    {"presets", "models by name, with their sizes and training defaults", answer_presets},
    {"clusters", "clusters by name: device, levels, and each figure with its source",
     answer_clusters},
    {"try", "a run compiled and simulated: time, memory by stage and kind, traffic", answer_try},
    {"slices", "every kernel and transfer of the simulated step, as columns", answer_slices},
    {"schedule", "pipeline schedules: bubble, activations, and each action with its time",
     answer_schedule},
    {"neighbours", "the price of moving a factor of the ranks between two axes", answer_neighbours},
    {"search", "the fastest plans on a cluster, with how many were dropped and why", answer_search,
     true},
    {"why_not", "why a plan lost against the best one", answer_why_not, true},
    {"ir", "the IR after a pass, by line, with the pass that made each line", answer_ir},
    {"program", "what one class of ranks runs: buffers, routines, calls", answer_program},
    {"placements", "what every rank holds of a tensor, in use and at rest", answer_placements},
    {"memory_at", "what lies in a rank's memory at a time, by kind and buffer", answer_memory_at},
    {"verify", "the plan, run on a small model and compared with one rank", answer_verify, false,
     true},
    {"collectives", "what each collective does to a small tensor", answer_collectives, false, true},
});

}  // namespace

std::span<const QuestionKind> question_kinds() { return kKinds; }

const QuestionKind& question_kind(std::string_view name) {
  for (const QuestionKind& kind : kKinds)
    if (kind.name == name) return kind;
  std::vector<std::string> names;
  for (const QuestionKind& kind : kKinds) names.emplace_back(kind.name);
  throw user_error("there is no question {}", name)
      .help(fmt::format("ask one of {}", join_choices(names)));
}

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

Answer ask(std::string_view kind, const Question& question) {
  return question_kind(kind).answer(question);
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
