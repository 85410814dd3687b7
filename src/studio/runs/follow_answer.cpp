// SPDX-License-Identifier: Apache-2.0
// The question `follow`: lines of a run's metrics, ranks and events as they are written, from the
// bytes that the page has seen. Nothing is asked of the run, and nothing is read twice.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "record/rank_lines.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/run_files.h"
#include "studio/runs/run_folders.h"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{250};
constexpr size_t kMostLinesTold = 500;

// A file that grows, and how far it was read.
struct Followed {
  const char* name;
  const char* key;
  int64_t at = 0;
  uint64_t number = 0;

  // New lines as objects. `reset`: the file is another one now, or shorter, and is read from its
  // begin.
  Json take(const ClosedFolder& folder, bool& reset) {
    Json lines = Json::array();
    const std::optional<FileState> state = folder.state_of(name);
    const bool other = state && number != 0 && state->number != number;
    if (other || (state ? state->bytes : 0) < at) {
      reset = true;
      at = 0;
    }
    if (!state) return lines;
    number = state->number;
    if (state->bytes == at) return lines;
    size_t told = 0;
    at = read_lines(folder, name, at, [&](std::string_view line) {
      if (std::optional<Json> object = line_object(line)) lines.push_back(std::move(*object));
      return ++told < kMostLinesTold;
    });
    return lines;
  }
};

// Where the page has read to, and in which file: a resumed run writes another one, with fewer
// lines.
Followed cursor_of(const Question& question, const char* name, const char* key) {
  Followed followed{name, key};
  const Json* from = question.fields.find("from");
  if (!from) return followed;
  require_known_fields(*from,
                       {"metrics", "events", "ranks", "metrics_file", "events_file", "ranks_file"});
  followed.at = find_whole(*from, key, {0, int64_t{1} << 50}).value_or(0);
  const std::string file = find_text(*from, fmt::format("{}_file", key)).value_or("");
  std::from_chars(file.data(), file.data() + file.size(), followed.number);
  return followed;
}

}  // namespace

Answer answer_follow(const Question& question) {
  require_known_fields(question.fields, {"run", "from", "once"});
  const FoundRun run = asked_run_folder(question, "run");
  const bool once = find_flag(question.fields, "once").value_or(false);
  Followed metrics = cursor_of(question, kMetricsFile, "metrics");
  Followed events = cursor_of(question, kEventsFile, "events");
  Followed ranks = cursor_of(question, kRanksFile, "ranks");
  for (bool first = true;; first = false) {
    bool reset = false;
    const Json steps = metrics.take(run.folder, reset), happened = events.take(run.folder, reset);
    const Json lines = ranks.take(run.folder, reset);
    const bool any = !steps.items().empty() || !happened.items().empty() || !lines.items().empty();
    Json part{{"metrics", steps},
              {"events", happened},
              {"ranks", lines},
              {"next", Json{{"metrics", metrics.at},
                            {"events", events.at},
                            {"ranks", ranks.at},
                            {"metrics_file", std::to_string(metrics.number)},
                            {"events_file", std::to_string(events.number)},
                            {"ranks_file", std::to_string(ranks.number)}}}};
    if (reset) part["reset"] = true;
    if (once && !any) return {.json = part};
    const bool heard = !question.tell || question.tell(any || reset || first ? part : Json());
    if (!heard) return {.json = Json::object()};
    if (!any) std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace tessera
