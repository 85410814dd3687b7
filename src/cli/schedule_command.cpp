// SPDX-License-Identifier: Apache-2.0
// tessera schedule: draws pipeline schedules as text, SVG and trace, with bubble and peak
// activations, one or several together.
#include <sys/ioctl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "record/progress.h"
#include "schedule/check_schedule.h"
#include "schedule/schedule_csv.h"
#include "schedule/schedule_drawing.h"
#include "schedule/schedule_kinds.h"
#include "schedule/schedule_timing.h"
#include "studio/schedule_json.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "F forward, B full backward, I input gradient, W weight gradient, with the microbatch;\n"
    "lower case on a rank's odd chunks. Costs are sums over all chunks of a rank; messages take\n"
    "no time. span is the time from one step to the next without a barrier between them; idle =\n"
    "span - useful; bubble of total = idle / span, bubble of ideal = idle / useful. Activations\n"
    "are counted in microbatches through one rank's blocks.\n"
    "Examples:\n"
    "  tessera schedule --kind 1f1b --stages 4 --microbatches 8\n"
    "  tessera schedule --kind gpipe,1f1b,zb_h1,zb_v --stages 4 --microbatches 8 --svg all.svg\n"
    "  tessera schedule --kind interleaved_1f1b --chunks 4 --costs 1,1.2,0.8 --trace trace.json\n"
    "  tessera schedule --kind zb_h1 --csv mine.csv\n"
    "  tessera schedule --kind custom --actions mine.csv --json";

struct ScheduleCommand {
  std::vector<std::string> kinds{"1f1b"};
  int stages = 4, microbatches = 8;
  std::optional<int> chunks;
  std::vector<double> costs{1, 1, 1};
  std::string actions_path, svg_path, trace_path, csv_path;
  bool json = false;
};

// Two if there is a choice. When several kinds are drawn, a kind without a choice keeps its own
// number.
int chunks_for(const ScheduleKind& kind, const ScheduleCommand& command) {
  const bool fixed = kind.least_chunks == kind.most_chunks;
  if (!command.chunks) return default_chunks(kind.name);
  // A user who says one chunk usually means no chunks; zb_v still has two.
  if (fixed && (command.kinds.size() > 1 || command.chunks == 1)) return kind.most_chunks;
  return *command.chunks;
}

Schedule read_custom(const ScheduleCommand& command) {
  if (command.actions_path.empty())
    throw user_error("--kind custom reads a schedule from a file, but none is given")
        .help("use --actions FILE.csv; --csv FILE writes one to start from");
  return read_schedule_csv(command.actions_path);
}

// "all" is every kind that has a name.
std::vector<std::string> expand_all(const std::vector<std::string>& asked) {
  std::vector<std::string> kinds;
  for (const std::string& kind : asked)
    if (kind == "all")
      for (const ScheduleKind& each : schedule_kinds()) kinds.emplace_back(each.name);
    else
      kinds.push_back(kind);
  return kinds;
}

std::vector<TimedSchedule> make_all(const ScheduleCommand& command) {
  const StageCosts costs = stage_costs(command.costs);
  std::vector<TimedSchedule> all;
  for (const std::string& kind : command.kinds) {
    Schedule schedule = kind == "custom" ? read_custom(command)
                                         : make_schedule(kind, command.stages,
                                                         chunks_for(schedule_kind(kind), command),
                                                         command.microbatches);
    check_schedule(schedule);
    ScheduleTiming timing = time_schedule(schedule, costs);
    all.push_back({std::move(schedule), std::move(timing)});
  }
  return all;
}

int terminal_columns() {
  winsize size{};
  return ::ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 130;
}

std::string peaks_text(const ScheduleTiming& timing) {
  std::string text;
  for (const RankTiming& rank : timing.ranks)
    text += fmt::format("{}{:.4g}", text.empty() ? "" : " ", rank.peak_activations);
  return text;
}

void print_drawing(const TimedSchedule& timed, bool colour, int columns) {
  const Schedule& schedule = timed.schedule;
  const ScheduleTiming& timing = timed.timing;
  fmt::print("{}: {} stages, {} chunk{} each, {} microbatch{}\n{}", schedule.kind, schedule.ranks,
             schedule.chunks, schedule.chunks == 1 ? "" : "s", schedule.microbatches,
             schedule.microbatches == 1 ? "" : "es",
             draw_as_text(timed, {.columns = columns, .colour = colour}));
  fmt::print("  idle {:.6g} of {:.6g} time units (bubble {:.1f} %)\n", timing.ranks[0].idle,
             timing.ranks[0].span, 100 * timing.bubble_of_total);
  if (timing.makespan > timing.ranks[0].span)
    fmt::print("  with a barrier after each step: {:.6g} time units per step\n", timing.makespan);
  fmt::print("  peak activations by rank: {}\n\n", peaks_text(timing));
}

// For comparison at a glance.
void print_table(const std::vector<TimedSchedule>& all) {
  fmt::print("{:<17}{:>7}{:>11}{:>11}{:>12}{:>12}{:>10}\n", "schedule", "chunks", "span", "idle",
             "% of total", "% of ideal", "peak");
  for (const TimedSchedule& timed : all) {
    double idle = 0, peak = 0;
    for (const RankTiming& rank : timed.timing.ranks) {
      idle = std::max(idle, rank.idle);
      peak = std::max(peak, rank.peak_activations);
    }
    fmt::print("{:<17}{:>7}{:>11.6g}{:>11.6g}{:>12.1f}{:>12.1f}{:>10.4g}\n", timed.schedule.kind,
               timed.schedule.chunks, timed.timing.ranks[0].span, idle,
               100 * timed.timing.bubble_of_total, 100 * timed.timing.bubble_of_ideal, peak);
  }
}

void write_files(const ScheduleCommand& command, const std::vector<TimedSchedule>& all) {
  if (!command.svg_path.empty()) write_file_atomically(command.svg_path, draw_as_svg(all));
  if (!command.trace_path.empty()) write_file_atomically(command.trace_path, to_trace(all));
  if (!command.csv_path.empty()) write_file_atomically(command.csv_path, to_csv(all[0].schedule));
}

void run(const ScheduleCommand& command) {
  if (!command.csv_path.empty() && command.kinds.size() > 1)
    throw user_error("--csv writes one schedule, but --kind names {}", command.kinds.size())
        .help("use one kind");
  const std::vector<TimedSchedule> all = make_all(command);
  write_files(command, all);
  if (command.json) {
    Json schedules = Json::array();
    for (const TimedSchedule& timed : all) schedules.push_back(to_json(timed, command.costs));
    print_json(all.size() == 1 ? schedules.items()[0] : Json{{"schedules", schedules}});
    return;
  }
  const bool colour = is_terminal(stdout);
  for (const TimedSchedule& timed : all) print_drawing(timed, colour, terminal_columns());
  if (all.size() > 1) print_table(all);
}

std::string kinds_text() {
  std::string text;
  for (const ScheduleKind& kind : schedule_kinds())
    text += fmt::format("{}{}", text.empty() ? "" : ", ", kind.name);
  return text;
}

}  // namespace

void add_schedule_command(Command app) {
  auto command = std::make_shared<ScheduleCommand>();
  const Command schedule =
      app.add_subcommand("schedule", "draw pipeline schedules, with bubble and peak activations");
  schedule.footer(kFooter);
  schedule
      .add_option("--kind", command->kinds,
                  "one or several of " + kinds_text() + ", custom; all: each of these but custom")
      .delimiter(',')
      .show_default();
  schedule.add_option("--stages", command->stages, "number of ranks in the pipeline")
      .show_default();
  schedule.add_option("--chunks", command->chunks,
                      "stages per rank, where the schedule leaves a choice; 2 unless given");
  schedule.add_option("--microbatches", command->microbatches, "per step").show_default();
  schedule
      .add_option("--costs", command->costs,
                  "forward, input gradient, weight gradient of one rank's stages")
      .delimiter(',')
      .show_default();
  schedule.add_option("--actions", command->actions_path,
                      "CSV of actions per rank for custom, as PyTorch's pipelining writes it");
  schedule.add_option("--svg", command->svg_path, "write a picture");
  schedule.add_option("--trace", command->trace_path, "write a trace for ui.perfetto.dev");
  schedule.add_option("--csv", command->csv_path, "write the actions per rank as CSV");
  add_json_flag(schedule, command->json);
  schedule.on_run([command] {
    command->kinds = expand_all(command->kinds);
    run(*command);
  });
}

}  // namespace tessera
