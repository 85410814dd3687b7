// SPDX-License-Identifier: Apache-2.0
#include "cli/supervised_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "cli/line_printer.h"
#include "cli/start_signs.h"
#include "cli/supervised_folder.h"
#include "comm/failure/report_folder.h"
#include "core/error.h"
#include "elastic/elastic_ranks.h"
#include "files/json.h"
#include "files/small_file.h"
#include "files/storage_error.h"
#include "launch/supervisor.h"
#include "planner/cadence.h"
#include "report/figures.h"
#include "report/goodput.h"
#include "system/say.h"
#include "system/stop_signal.h"

namespace tessera {
namespace {

// mpirun waits a second before it kills, and a busy machine is slow.
constexpr double kLeastSecondsToEnd = 10;
constexpr int kLostFolderExitStatus = 6;

// "--mesh dp=2" and "--mesh=dp=2".
void erase_option(std::vector<std::string>& words, const std::string& option) {
  for (size_t i = 0; i < words.size();) {
    const bool both = words[i] == option;
    if (!both && !words[i].starts_with(option + "=")) {
      ++i;
      continue;
    }
    const size_t count = both && i + 1 < words.size() ? 2 : 1;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i),
                words.begin() + static_cast<std::ptrdiff_t>(i + count));
  }
}

// From the measurements of this run. Nothing if one is missing.
void recommend_cadence(const Config& config, const SupervisorResult& result) {
  if (result.failures == 0) return;
  try {
    const RunRecord record = read_run(config.run.out);
    const RunFigures figures = figures_of(record);
    double written = 0;
    int saved = 0;
    for (const RecordedEvent& event : record.events)
      if (event.kind == "saved") {
        written += event.seconds;
        ++saved;
      }
    const double step = known(figures.mean.step_seconds).value_or(0);
    if (figures.checkpoints.times == 0 || saved == 0 || step <= 0) return;
    const SaveCosts costs{.stall_seconds = figures.checkpoints.seconds / figures.checkpoints.times,
                          .written_seconds = written / saved,
                          .step_seconds = step,
                          .seconds_between_failures = result.seconds / result.failures};
    const Cadence best = best_cadence(costs);
    say(stderr,
        "supervisor: {} failure{} in {:.0f} s, a checkpoint stalls training for {:.3g} s: "
        "--save-every {} loses the least time, about {:.1f} %\n",
        result.failures, result.failures == 1 ? "" : "s", result.seconds, costs.stall_seconds,
        best.steps, 100 * best.lost_share);
  } catch (const UserError&) {
    // This is only advice: without a record there is none.
  }
}

// Returns what `supervised` returns. If the run's folder can no longer be read, reports that and
// ends the program.
SupervisorResult unless_folder_is_lost(const std::function<SupervisorResult()>& supervised) {
  try {
    return supervised();
  } catch (const StorageError& lost) {
    say(stderr, "{}", lost.report());
    throw ExitStatus(kLostFolderExitStatus);
  }
}

// Instead of what was given.
void use_plan(const ElasticPlan& plan, std::vector<std::string>& words) {
  constexpr std::array kShortForms{"--mesh", "--zero", "--microbatches", "--schedule",
                                   "--recompute"};
  for (const char* option : kShortForms) erase_option(words, option);
  words.insert(words.end(), {"--mesh", plan.ranks > 1 ? plan.mesh : "dp=1"});
  for (const auto& [key, value] : plan.settings)
    words.insert(words.end(), {"--set", fmt::format("{}={}", key, value)});
}

StartRecord start_record_of(const std::filesystem::path& out, const EndedStart& start,
                            const ElasticRanks& elastic) {
  StartRecord attempt = measure_start(out, start.began_unix_seconds, start.seconds);
  attempt.waited_seconds = start.waited_seconds;
  attempt.ranks = elastic.plan().ranks;
  attempt.available = std::max(elastic.available_at_start(), attempt.ranks);
  attempt.mesh = elastic.plan().mesh;
  attempt.plan = elastic.plan().text;
  attempt.end = start.failed    ? kStartFailed
                : start.moves   ? kStartMoved
                : start.stopped ? kStartStopped
                                : kStartDone;
  return attempt;
}

// Where starts print their lines, the supervisor prints this one after them.
void record_ended_start(const SupervisedRun& run, const StartRecord& ended) {
  record_start(run.config.run.out, ended);
  if (std::ranges::find(run.words, "--json-lines") != run.words.end())
    LinePrinter().print(to_json_line(ended));
}

// Of every start so far, those of earlier supervisors included.
std::vector<StartRecord> starts_in(const std::filesystem::path& out) {
  try {
    return read_run(out).starts;
  } catch (const UserError&) {
    return {};
  }
}

void say_goodput_so_far(const std::filesystem::path& out) {
  const MeasuredGoodput goodput = measure_goodput(starts_in(out));
  if (goodput.steps > 0) say(stderr, "supervisor: {} so far\n", to_line(goodput));
}

// Whether the last start ended well before the last step: a signal reached it, through the
// supervisor or past it.
bool was_stopped(const std::filesystem::path& out) {
  bool stopped = false;
  std::istringstream events(find_small_file(out / "events.jsonl").value_or(""));
  for (std::string line; std::getline(events, line);) {
    const Json event = parse_json(line);
    const Json* kind = event.find("event");
    if (!kind || !kind->text()) continue;
    if (*kind->text() == "start") stopped = false;
    if (*kind->text() == "end") stopped = event.find("stopped_by") != nullptr;
  }
  return stopped;
}

// Measured beside predicted. Nothing where nothing was lost: a run without failures.
void say_goodput(const Config& config) {
  try {
    const RunRecord record = read_run(config.run.out);
    const GoodputReport report = goodput_report(record);
    if (!report.measured.is_worth_telling()) return;
    for (const std::string& line : to_lines(report)) say(stderr, "{}\n", line);
  } catch (const UserError&) {
    // Without a record there is none.
  }
}

}  // namespace

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

void add_restart_options(Command command, RestartOptions& options, const std::string& when) {
  command.add_option("--restarts", options.restarts, when + "maximum number of restarts")
      .type_name("N")
      .range(0, 1000000);
  command
      .add_option("--patience", options.patience_seconds,
                  when + "give up after 3 failures and this long without a new checkpoint")
      .type_name("SECONDS")
      .range(0, 1000000);
}

void supervise_run(const SupervisedRun& run) {
  if (run.config.checkpoint.every == 0)
    throw user_error("a failed run restarts from its checkpoints, but none are saved")
        .help("add --save-every N");
  const bool resumes = std::find(run.words.begin(), run.words.end(), "--resume") != run.words.end();
  SupervisedFolder folder(run.config.run.out, resumes, run.options.patience_seconds, run.run_id);
  const bool is_launched = !run.launcher.empty();
  ElasticRanks elastic(run.config, RankSource(run.config.elastic, run.launcher), is_launched);
  StartSigns signs(run.config.run.out, is_launched);
  const auto command = [&](int start) {
    std::vector<std::string> words = run.words;
    words.insert(words.end(), {"--run-id", folder.run_id()});
    // A restart never replaces anything: a run that has started resumes, otherwise the original
    // command is repeated.
    if (const auto found = folder.look(); start > 0 && found.begun) {
      std::erase(words, "--resume");
      std::erase(words, "--overwrite");
      if (found.newest_step >= 0) words.emplace_back("--resume");
    }
    signs.before_start();
    if (!elastic.is_as_given()) use_plan(elastic.plan(), words);
    return run.command(elastic.launcher(run.config.run.out), elastic.plan().ranks,
                       std::move(words));
  };
  const auto newest_step = [&] { return folder.look().newest_step; };
  const auto record = [&](const EndedStart& start) {
    record_ended_start(run, start_record_of(run.config.run.out, start, elastic));
    if (start.failed || start.moves) say_goodput_so_far(run.config.run.out);
  };
  // An injected fault applies only to the first start, otherwise it would recur forever.
  const auto result = unless_folder_is_lost([&] {
    return supervise(
        {.command = command,
         .progress = newest_step,
         .unset_on_restart = {"TESSERA_FAULT"},
         .began = [&](int code) { return signs.began(code); },
         .over =
             [&](int process) {
               folder.glance();
               return signs.over(process);
             },
         .after_end = [&] { signs.clean_up(); },
         .record = record,
         .ready = [&] { return elastic.ready(); },
         // A start that has not begun cannot save.
         .must_move = [&] { return signs.began(kUserExitStatus) && elastic.must_move(); },
         .complete = [&] { return newest_step() >= run.config.train.steps; },
         .after_failure = [&] { merge_reports(run.config.run.out); },
         .ask_for_less = [&] { return elastic.do_with_less(); }},
        {.restarts = run.options.restarts,
         .patience_seconds = run.options.patience_seconds,
         .ready_seconds = run.options.patience_seconds + run.config.elastic.shrink_after_seconds,
         .seconds_to_end = std::max(run.config.run.deadline_seconds, kLeastSecondsToEnd),
         .stop_signal = run.stop_signal});
  });
  say_goodput(run.config);
  recommend_cadence(run.config, result);
  const bool stopped = result.code == 0 && was_stopped(run.config.run.out);
  if (stopped || result.code != 0) throw ExitStatus(stopped ? kStoppedExitStatus : result.code);
}

}  // namespace tessera
