// SPDX-License-Identifier: Apache-2.0
// The questions `lessons`, the list of them, and `lesson`: one with its compiled program.
#include <algorithm>

#include "studio/kinds.h"
#include "studio/lessons/lesson_json.h"
#include "studio/question_fields.h"

namespace tessera {
namespace {

Json heading_json(const Lesson& lesson) {
  Json set = Json::object();
  for (const LessonSetting& setting : lesson.settings) set[setting.key] = setting.value;
  return {{"name", lesson.name},
          {"title", lesson.title},
          {"summary", lesson.summary},
          {"page", lesson.page},
          {"run", Json{{"model", lesson.model}, {"cluster", "laptop"}, {"set", set}}}};
}

Json stops_json(const LessonRun& run, const LessonMoments& moments) {
  Json stops = Json::array();
  for (const LessonStop& stop : run.lesson.stops) {
    const FoundStop found = find_stop(run, stop);
    const auto at = std::ranges::find_if(moments.positions, [&](const std::vector<int>& now) {
      return now[static_cast<size_t>(stop.place)] == found.position;
    });
    stops.push_back({{"name", stop.name.empty() ? name(stop.routine) : stop.name},
                     {"program", stop.place},
                     {"class", stop.block_class},
                     {"routine", name(stop.routine)},
                     {"what", stop.what},
                     {"index", found.index},
                     {"position", found.position},
                     {"moment", at - moments.positions.begin()},
                     {"sentence", stop.sentence}});
  }
  return stops;
}

Json formulas_json(const LessonRun& run) {
  const LessonSizes sizes = sizes_of(run.spec);
  Json formulas = Json::array();
  for (const LessonFormula& formula : run.lesson.formulas) {
    Json symbols = Json::array();
    std::string padded = fmt::format(" {} ", formula.symbols);
    for (const LessonSymbol& symbol : lesson_symbols())
      if (padded.find(fmt::format(" {} ", symbol.name)) != std::string::npos)
        symbols.push_back(
            {{"name", symbol.name}, {"meaning", symbol.meaning}, {"value", sizes.*symbol.value}});
    formulas.push_back({{"what", formula.what},
                        {"text", formula.text},
                        {"unit", unit_of(formula.figure)},
                        {"symbols", symbols},
                        {"formula", formula.value(sizes)},
                        {"program", figure_of(run, formula.figure)}});
  }
  return formulas;
}

Json guesses_json(const LessonRun& run) {
  Json guesses = Json::array();
  for (const LessonGuess& guess : run.lesson.guesses)
    guesses.push_back({{"question", guess.question},
                       {"unit", unit_of(guess.figure)},
                       {"answer", figure_of(run, guess.figure)},
                       {"because", guess.because}});
  return guesses;
}

}  // namespace

Answer answer_lessons(const Question& question) {
  require_known_fields(question.fields, {});
  Json list = Json::array();
  for (const Lesson& lesson : lessons()) list.push_back(heading_json(lesson));
  return {{{"lessons", list}}};
}

Answer answer_lesson(const Question& question) {
  require_known_fields(question.fields, {"lesson"});
  const LessonRun run =
      compile_lesson(find_lesson(find_text(question.fields, "lesson").value_or("data")));
  const Lesson& lesson = run.lesson;
  const LessonMoments moments = moments_of(run);
  const HostView view = view_of(run.programs());
  Json json = heading_json(lesson);
  json["text"] = lesson.text;
  json["command"] = "tessera compile" + flags_of(run.asked, false) + " --program";
  json["mesh"] = to_string(view.mesh);
  json["zigzag"] = view.zigzag;
  json["microbatches"] = view.microbatches;
  Json axes = Json::array();
  for (const Axis& axis : view.mesh.axes())
    axes.push_back({{"name", axis.name}, {"size", axis.size}});
  json["axes"] = axes;
  json["ranks"] = ranks_json(run);
  json["programs"] = programs_json(run);
  json["times"] = moments.times;
  json["moments"] = moments.positions;
  json["stops"] = stops_json(run, moments);
  json["formulas"] = formulas_json(run);
  json["guesses"] = guesses_json(run);
  Json breaks = Json::array();
  for (const LessonBreak& each : lesson.breaks)
    breaks.push_back({{"name", each.name}, {"title", each.title}, {"what", each.what}});
  json["breaks"] = breaks;
  return {std::move(json)};
}

}  // namespace tessera
