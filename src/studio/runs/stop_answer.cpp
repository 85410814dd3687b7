// SPDX-License-Identifier: Apache-2.0
// The questions `stop` and `kill`: signals to runs that this Studio has started, and to nothing
// else.
#include <limits>

#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/order_of_run.h"
#include "studio/runs/run_folders.h"
#include "studio/runs/started_runs.h"

namespace tessera {

Answer answer_stop(const Question& question) {
  StartedRuns& started = allowed_runs(question);
  require_known_fields(question.fields, {"run", "now"});
  const FoundRun run = asked_run_folder(question, "run");
  started.stop(run.id, find_flag(question.fields, "now").value_or(false));
  return {.json = {{"run", run.id}, {"stopping", true}}};
}

Answer answer_kill(const Question& question) {
  StartedRuns& started = allowed_runs(question);
  require_known_fields(question.fields, {"run", "rank"});
  const FoundRun run = asked_run_folder(question, "run");
  const auto rank = find_whole(question.fields, "rank", {0, std::numeric_limits<int>::max()});
  if (!rank)
    throw UserError("the question names no rank").at("rank").help("give the number of a rank");
  started.kill_rank(run.id, static_cast<int>(*rank));
  return {.json = {{"run", run.id}, {"killed", *rank}}};
}

}  // namespace tessera
