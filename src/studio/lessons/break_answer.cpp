// SPDX-License-Identifier: Apache-2.0
// The question `break`: a lesson's program with one mistake in it, run on a small model beside one
// rank, and who notices: the static check, before anything runs, or the comparison.
#include <algorithm>
#include <array>

#include "core/choices.h"
#include "program/check_program.h"
#include "studio/asked_run.h"
#include "studio/kinds.h"
#include "studio/lessons/lesson_run.h"
#include "studio/question_fields.h"
#include "studio/verify_json.h"

namespace tessera {
namespace {

const LessonBreak& find_break(const Lesson& lesson, std::string_view name) {
  std::vector<std::string> names;
  for (const LessonBreak& each : lesson.breaks) {
    if (each.name == name) return each;
    names.emplace_back(each.name);
  }
  throw user_error("lesson {} has no break {}", lesson.name, name)
      .at("break")
      .help(fmt::format("ask for one of {}", join_choices(names)));
}

struct BrokenFigure {
  std::string_view what;
  const WorstError& worst;
};

// What is furthest beyond what is allowed; copies that differ come first, they may not at all.
void add_worst(Json& json, const VerifyReport& report) {
  const std::array<BrokenFigure, 5> figures{
      {{"copies of a state differ between ranks", report.replica},
       {"gradients are not those of one rank", report.gradient},
       {"updated parameters are not those of one rank", report.parameter},
       {"the loss is not that of one rank", report.loss},
       {"the norm is not that of the gradients", report.grad_norm}}};
  for (const BrokenFigure& figure : figures) {
    if (figure.worst.is_allowed()) continue;
    json["sentence"] = figure.what;
    json["worst"] = figure.worst.name;
    json["error"] = figure.worst.error;
    json["allowed"] = figure.worst.allowed;
    return;
  }
}

}  // namespace

Answer answer_break(const Question& question) {
  require_known_fields(question.fields, {"lesson", "break"});
  const Lesson lesson = find_lesson(find_text(question.fields, "lesson").value_or("data"));
  const LessonBreak& mistake = find_break(lesson, find_text(question.fields, "break").value_or(""));
  RunSpec spec = spec_to_verify(asked_lesson(lesson).config, DType::Fp64, true);
  Json json{{"lesson", lesson.name}, {"break", mistake.name}, {"caught_by", ""}, {"sentence", ""}};
  try {
    const VerifyReport report =
        verify_plan(spec, {.poison = true, .change_program = mistake.change});
    json["report"] = to_json(report);
    if (report.equal()) return {std::move(json)};
    json["caught_by"] = "verify";
    add_worst(json, report);
  } catch (const ProgramError& error) {
    json["caught_by"] = "static check";
    json["sentence"] = error.what();
  }
  return {std::move(json)};
}

}  // namespace tessera
