// SPDX-License-Identifier: Apache-2.0
// The question `output`: the last lines that a run of Studio printed, and the failure report of any
// run.
#include <algorithm>

#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/run_files.h"
#include "studio/runs/run_folders.h"

namespace tessera {
namespace {

constexpr int64_t kMostOutputBytes = 8 << 10, kMostFailureBytes = 64 << 10;

// Whole lines.
std::string last_lines(const ClosedFolder& folder, const char* name) {
  const std::optional<FileState> state = folder.state_of(name);
  if (!state) return "";
  const int64_t begin = std::max<int64_t>(0, state->bytes - kMostOutputBytes);
  std::string text = folder.read(name, begin, kMostOutputBytes).value_or("");
  return begin == 0 ? text : text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
}

}  // namespace

Answer answer_output(const Question& question) {
  require_known_fields(question.fields, {"run"});
  const FoundRun run = asked_run_folder(question, "run");
  return {.json = {{"run", run.id},
                   {"output", last_lines(run.folder, kOutputFile)},
                   {"failure", run.folder.read("failure.txt", 0, kMostFailureBytes).value_or("")}}};
}

}  // namespace tessera
