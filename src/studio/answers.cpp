// SPDX-License-Identifier: Apache-2.0
#include "studio/answers.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/choices.h"
#include "studio/kinds.h"

namespace tessera {
namespace {

// What a compiler and a simulator answer; machine_kinds.cpp has the others.
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
    {"lessons", "the lessons, each a kind of parallelism on a tiny model", answer_lessons},
    {"lesson", "a lesson's text and its compiled program, step by step on every rank",
     answer_lesson},
});

}  // namespace

std::span<const QuestionKind> question_kinds() {
  static const std::vector<QuestionKind> all = [] {
    std::vector<QuestionKind> kinds(kKinds.begin(), kKinds.end());
    for (const QuestionKind& kind : machine_kinds()) kinds.push_back(kind);
    return kinds;
  }();
  return all;
}

const QuestionKind& question_kind(std::string_view name) {
  for (const QuestionKind& kind : question_kinds())
    if (kind.name == name) return kind;
  std::vector<std::string> names;
  for (const QuestionKind& kind : question_kinds()) names.emplace_back(kind.name);
  throw user_error("there is no question {}", name)
      .help(fmt::format("ask one of {}", join_choices(names)));
}

Answer ask(std::string_view kind, const Question& question) {
  return question_kind(kind).answer(question);
}

}  // namespace tessera
