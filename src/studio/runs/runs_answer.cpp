// SPDX-License-Identifier: Apache-2.0
// The question `runs`: what lies in the folders that Studio was given; those that go on first. Of a
// run that Studio has started it also says what can be done with it.
#include <algorithm>

#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/run_files.h"
#include "studio/runs/run_folders.h"
#include "studio/runs/started_runs.h"
#include "system/stop_signal.h"

namespace tessera {
namespace {

// Over what its events say, which a process that died could not write.
void add_process(const FoundRun& run, const StartedRuns& started, Json& json) {
  const bool is_ours =
      run.path.parent_path() == started.folder() && run.folder.state_of(kOrderFile);
  if (!is_ours) return;
  const std::optional<StartedRun> process = started.find(run.id);
  const std::string state = *json.find("state")->text();
  const bool goes_on = process && !process->ended;
  if (goes_on)
    json["state"] = process->stopping ? "stopping" : json.find("step") ? "running" : "starting";
  else if (process && (state == "running" || state == "silent"))
    json["state"] =
        process->code == 0 || process->code == kStoppedExitStatus ? "stopped" : "failed";
  Json can = Json::array();
  if (goes_on) can.push_back(process->stopping ? "stop_now" : "stop");
  if (goes_on && process->supervised && !process->stopping) can.push_back("kill");
  if (!goes_on && state != "finished") can.push_back("resume");
  json["can"] = can;
  if (process) json["ranks"] = process->ranks;
  if (process && process->ended) json["exit_code"] = process->code;
}

}  // namespace

Answer answer_runs(const Question& question) {
  require_known_fields(question.fields, {});
  const bool allows = question.started != nullptr;
  if (!question.runs)
    return {.json = {{"folders", false}, {"allows_runs", allows}, {"runs", Json::array()}}};
  std::vector<Json> runs;
  for (const FoundRun& run : question.runs->find_all()) {
    Json json{{"id", run.id}, {"name", run.name}};
    const Json summary = summary_of(run.folder);
    for (const JsonMember& member : summary.members()) json[member.name] = member.value;
    if (question.started) add_process(run, *question.started, json);
    runs.push_back(std::move(json));
  }
  const auto goes_on = [](const Json& run) {
    const std::string& state = *run.find("state")->text();
    return state == "running" || state == "starting" || state == "stopping";
  };
  std::stable_partition(runs.begin(), runs.end(), goes_on);
  return {
      .json = {{"folders", true}, {"allows_runs", allows}, {"runs", Json::array(std::move(runs))}}};
}

}  // namespace tessera
