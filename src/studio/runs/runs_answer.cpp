// SPDX-License-Identifier: Apache-2.0
// The question `runs`: what lies in the folders that Studio was given; those that go on first.
#include <algorithm>

#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/run_files.h"
#include "studio/runs/run_folders.h"

namespace tessera {

Answer answer_runs(const Question& question) {
  require_known_fields(question.fields, {});
  if (!question.runs) return {.json = {{"folders", false}, {"runs", Json::array()}}};
  std::vector<Json> runs;
  for (const FoundRun& run : question.runs->find_all()) {
    Json json{{"id", run.id}, {"name", run.name}};
    const Json summary = summary_of(run.folder);
    for (const JsonMember& member : summary.members()) json[member.name] = member.value;
    runs.push_back(std::move(json));
  }
  const auto goes_on = [](const Json& run) { return *run.find("state") == "running"; };
  std::stable_partition(runs.begin(), runs.end(), goes_on);
  return {.json = {{"folders", true}, {"runs", Json::array(std::move(runs))}}};
}

}  // namespace tessera
