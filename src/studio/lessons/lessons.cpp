// SPDX-License-Identifier: Apache-2.0
// The list of lessons, in the order of learning.
#include "core/choices.h"
#include "core/error.h"
#include "studio/lessons/lesson.h"

namespace tessera {

std::vector<Lesson> lessons() {
  std::vector<Lesson> all;
  for (auto* part : {data_lessons, sharded_lessons, tensor_lessons, context_lessons,
                     pipeline_lessons, expert_lessons})
    for (Lesson& lesson : part()) all.push_back(std::move(lesson));
  return all;
}

Lesson find_lesson(std::string_view name) {
  std::vector<std::string> names;
  for (Lesson& lesson : lessons()) {
    if (lesson.name == name) return lesson;
    names.emplace_back(lesson.name);
  }
  const std::string near = nearest_name(name, names);
  throw user_error("there is no lesson {}{}", name,
                   near.empty() ? "" : ": did you mean " + near + "?")
      .at("lesson")
      .help(fmt::format("open one of {}", join_choices(names)));
}

}  // namespace tessera
