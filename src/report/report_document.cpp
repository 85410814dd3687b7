// SPDX-License-Identifier: Apache-2.0
// The tables of a report. Every figure that was not recorded says so.
#include <algorithm>
#include <cctype>

#include "config/run_spec.h"
#include "core/quantities.h"
#include "report/figure_text.h"
#include "report/goodput.h"
#include "report/islands_table.h"
#include "report/report.h"

namespace tessera {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string text_or_unknown(const std::string& text) { return text.empty() ? kNotRecorded : text; }
std::string bytes_text(double bytes) {
  return bytes > 0 ? short_bytes(static_cast<int64_t>(bytes)) : kNotRecorded;
}

std::string ranks_text(const RunFacts& facts, bool simulated) {
  const std::string as = simulated                ? " simulated"
                         : facts.ranks_as.empty() ? ""
                                                  : " as " + facts.ranks_as;
  return fmt::format("{}{}, {} thread{} each", facts.ranks, as, facts.threads_per_rank,
                     facts.threads_per_rank == 1 ? "" : "s");
}

Rows machine_rows(const RunFacts& facts, bool simulated) {
  return {
      {"device", text_or_unknown(facts.device)},
      {"count", facts.device_count > 0 ? fmt::format("{} {}", facts.device_count, facts.device_unit)
                                       : kNotRecorded},
      {"nodes", facts.nodes > 0 ? fmt::format("{}", facts.nodes) : kNotRecorded},
      {"interconnect", text_or_unknown(facts.interconnect)},
      {"ranks", ranks_text(facts, simulated)},
      {"model", fmt::format("{}, {} parameters", facts.model,
                            rate_text(static_cast<double>(facts.parameters)))},
      {"mesh", facts.mesh}};
}

std::string pipeline_text(const Config& config, const RunFacts* facts) {
  if (!facts || facts->stages == 1) return "none";
  return fmt::format("{} over {} stages; the schedule's own bubble is {} of the step",
                     config.plan.schedule, facts->stages, percent_text(facts->schedule_bubble));
}

std::string recompute_text(const Config& config) {
  if (config.plan.recompute != "every") return config.plan.recompute;
  return config.plan.recompute_every == 0
             ? "every N blocks, N the square root of a stage's number of blocks"
             : fmt::format("every {} blocks", config.plan.recompute_every);
}

Rows plan_rows(const Config& config, const RunFacts* facts, bool simulated) {
  const TrainConfig& train = config.train;
  const PlanConfig& plan = config.plan;
  return {
      {"plan",
       fmt::format("zero {}, sequence parallelism {}, context by {}, sums in {}",
                   resolve_zero(config), plan.sequence_parallel ? "on" : "off", name(plan.context),
                   plan.reduce_dtype == "auto" ? "their own dtype" : plan.reduce_dtype)},
      {"pipeline", pipeline_text(config, facts)},
      {"recompute", recompute_text(config)},
      {"effective batch",
       fmt::format("{} samples{} in {} microbatch{}", train.batch,
                   facts ? fmt::format(", {} tokens", facts->tokens_per_step) : "",
                   train.microbatches, train.microbatches == 1 ? "" : "es")},
      {"sequence length", fmt::format("{}", train.seq)},
      {"precision", train.precision},
      {"bits", train.repeatable ? "the same on every run"
                                : "may differ from run to run: train.repeatable = false"},
      {"checkpoint cadence", simulated ? "none: a simulation"
                             : config.checkpoint.every > 0
                                 ? fmt::format("every {} steps", config.checkpoint.every)
                                 : "never"}};
}

DocumentTable setup_table(const Report& report) {
  const RunRecord& record = report.record;
  DocumentTable table{.heading = "Machine and plan", .columns = {}, .rows = {}};
  const auto add = [&](const Rows& rows) {
    table.rows.insert(table.rows.end(), rows.begin(), rows.end());
  };
  if (record.facts)
    add(machine_rows(*record.facts, record.simulated()));
  else
    add({{"device, count, nodes, interconnect", kNotRecorded}});
  if (record.config)
    add(plan_rows(*record.config, record.facts ? &*record.facts : nullptr, record.simulated()));
  else
    add({{"plan, batch, sequence length, precision, checkpoint cadence", kNotRecorded}});
  return table;
}

DocumentTable speed_table(const Report& report) {
  const RunFigures& f = report.figures;
  const RunRecord& record = report.record;
  std::optional<double> recomputed;
  if (record.facts && record.facts->hardware_flops > 0)
    recomputed = record.facts->recompute_flops / record.facts->hardware_flops;
  Rows rows{
      {"steps", fmt::format("{} to {}; figures are over {} of them", f.first_step, f.last_step,
                            f.counted_steps)},
      {"step time",
       fmt::format("{} mean, {} median, {} slowest", seconds_text(known(f.mean.step_seconds)),
                   seconds_text(f.median_step_seconds), seconds_text(f.slowest_step_seconds))}};
  for (const StepField& field : step_fields())
    if (field.label) rows.push_back({field.label, value_text(field.unit, known(field.of(f.mean)))});
  const Rows derived{
      {"tokens per second, with the time between steps", rate_text(f.all_tokens_per_second)},
      {"MFU, full attention counted", percent_text(f.mfu_full)},
      {"recomputation, as a share of all flops", percent_text(recomputed)},
      {"peak that MFU and HFU refer to", peak_text(record)},
      {"loss", record.simulated()
                   ? "none: a simulation"
                   : fmt::format("{} to {}, held out {}", loss_text(f.first_loss),
                                 loss_text(f.last_loss), loss_text(f.held_out_loss))}};
  rows.insert(rows.end(), derived.begin(), derived.end());
  return {.heading = "Speed",
          .columns = {},
          .rows = std::move(rows),
          .note = f.counted_steps == f.last_step - f.first_step + 1
                      ? ""
                      : "The first step after each start is excluded from all means: it touches "
                        "memory for the first time."};
}

DocumentTable split_table(const Report& report) {
  const RunFigures& f = report.figures;
  DocumentTable table{.heading = "Where the time of a step went",
                      .columns = {"part", "per step", "share"},
                      .rows = {}};
  const StepTimes* split = f.split();
  if (!split) {
    table.note = "The parts of a step were not recorded.";
    return table;
  }
  const auto add = [&](const char* name, double seconds) {
    table.rows.push_back({name, seconds_text(known(seconds)), percent_text(f.share(seconds))});
  };
  for (const TimePart& part : kTimeParts) add(part.label, split->*part.seconds);
  add("all", split->total_seconds());
  if (const auto of_cores = compute_share_of_cores(report.record, f))
    table.rows.push_back(
        {"compute of all ranks, as a share of the cores' time", "", percent_text(of_cores)});
  table.note =
      "Means over ranks. Compute: the program's time without the next two. Exposed communication: "
      "in collectives or waiting for them. Bubble: the same for other stages, and the wait until "
      "the last rank has ended. Data: waiting for the next batch. Other: passing on the batch; "
      "checkpoints, held-out losses, samples, progress.";
  if (ranks_share_cores(report.record))
    table.note += " Ranks take turns on the cores: a rank's time includes its waits for a core.";
  return table;
}

std::vector<std::string> spent_row(const char* name, const Spent& spent) {
  if (spent.times == 0) return {name, "0", "", "", ""};
  return {name, fmt::format("{}", spent.times), seconds_text(spent.seconds),
          seconds_text(spent.seconds / spent.times),
          spent.bytes > 0 ? short_bytes(spent.bytes) : ""};
}

DocumentTable between_table(const Report& report) {
  DocumentTable table{.heading = "Between steps",
                      .columns = {"what", "times", "in all", "each", "size"},
                      .rows = {}};
  if (report.record.events.empty())
    table.note = "Not recorded.";
  else if (report.record.simulated())
    table.note = "A simulation has one step and nothing after it.";
  else
    table.rows = {spent_row("checkpoints", report.figures.checkpoints),
                  spent_row("held-out losses", report.figures.evaluations),
                  spent_row("samples", report.figures.samples)};
  return table;
}

DocumentTable memory_table(const Report& report) {
  const RunFigures& f = report.figures;
  const RunFacts facts = report.record.facts.value_or(RunFacts{});
  return {
      .heading = "Memory",
      .columns = {},
      .rows = {
          {"planned peak of the fullest rank", bytes_text(static_cast<double>(f.peak_bytes))},
          {"of all ranks", bytes_text(static_cast<double>(f.all_peak_bytes))},
          facts.node_memory_bytes > 0
              ? std::vector<std::string>{"of the machine", bytes_text(facts.node_memory_bytes)}
              : std::vector<std::string>{"of a device", bytes_text(facts.device_memory_bytes)}}};
}

// One digit for each expert: its load in tenths of twice the mean.
std::string load_digits(const ExpertLoad& layer) {
  constexpr size_t kMost = 64;
  std::string digits;
  for (size_t i = 0; i < std::min(kMost, layer.counts.size()); ++i)
    digits += static_cast<char>('0' + std::min(9.0, 5 * layer.counts[i] / layer.mean()));
  return digits + (layer.counts.size() > kMost ? "..." : "");
}

DocumentTable experts_table(const Report& report) {
  DocumentTable table{
      .heading = "Loads of experts",
      .columns = {"layer", "largest / mean", "smallest / mean", "starving", "experts"},
      .rows = {}};
  int64_t step = 0;
  std::vector<ExpertLoad> layers;
  for (const StepRecord& each : report.record.steps)
    if (!each.loads.empty()) {
      step = each.step;
      layers = each.loads;
    }
  for (const ExpertLoad& layer : layers) {
    if (layer.mean() <= 0) continue;
    const auto [least, most] = std::minmax_element(layer.counts.begin(), layer.counts.end());
    table.rows.push_back({layer.block, fmt::format("{:.2f}", *most / layer.mean()),
                          fmt::format("{:.2f}", *least / layer.mean()),
                          fmt::format("{}", layer.starving()), load_digits(layer)});
  }
  table.note = fmt::format(
      "Of step {}. Experts: a digit for each, 5 is the mean, 9 at least 1.8 times the mean, 0 less "
      "than 0.2 of it. Starving: with less than a tenth of the mean.",
      step);
  return table;
}

DocumentTable incidents_table(const Report& report) {
  constexpr size_t kShown = 5;
  DocumentTable table{.heading = "Stalls and failures",
                      .columns = {"step", "seconds", "times the median", "what grew"},
                      .rows = {}};
  for (size_t i = 0; i < std::min(kShown, report.stalls.size()); ++i) {
    const Stall& stall = report.stalls[i];
    table.rows.push_back({fmt::format("{}", stall.step), seconds_text(stall.seconds),
                          fmt::format("{:.1f}", stall.times_median), text_or_unknown(stall.grew)});
  }
  table.note = report.record.simulated()
                   ? "A simulation has neither."
                   : fmt::format("{} steps took more than {} times the median.",
                                 report.stalls.size(), kStallOverMedian);
  for (const std::string& sentence : report.failures)
    table.note += fmt::format(" It {}.", sentence);
  if (report.record.events.empty()) table.note += " Starts and failures were not recorded.";
  return table;
}

DocumentTable goodput_table(const Report& report) {
  const GoodputReport goodput = goodput_report(report.record);
  DocumentTable table{.heading = "Goodput, with failures and returns",
                      .columns = {"", "seconds", "share", "predicted share", "what it is"},
                      .rows = {}};
  for (const GoodputRow& row : rows_of(goodput))
    table.rows.push_back({row.name, seconds_text(row.measured_seconds),
                          percent_text(row.measured_share), percent_text(row.predicted_share),
                          row.summary});
  table.note =
      "Predicted: by the planner's model of whole runs, for as many failures as there were, each "
      "as long as it took here.";
  return table;
}

// Where a run that failed or moved continued, and on what.
DocumentTable starts_table(const Report& report) {
  constexpr size_t kShown = 60;
  DocumentTable table{.heading = "Starts",
                      .columns = {"steps", "ranks", "seconds", "waited", "how it ended"},
                      .rows = {}};
  const std::vector<StartRecord>& starts = report.record.starts;
  const size_t first = starts.size() > kShown ? starts.size() - kShown : 0;
  for (size_t i = first; i < starts.size(); ++i) {
    const StartRecord& each = starts[i];
    table.rows.push_back(
        {each.steps() > 0 ? fmt::format("{} to {}", each.first_step, each.last_step) : "none",
         ranks_text(each), seconds_text(each.seconds), seconds_text(each.waited_seconds),
         each.end == kStartMoved ? "saved, to continue on other ranks" : each.end});
  }
  table.note = fmt::format("Of {} starts by a supervisor{}.", starts.size(),
                           first > 0 ? fmt::format(", the last {}", kShown) : "");
  return table;
}

}  // namespace

Document document_of(const Report& report) {
  const RunRecord& record = report.record;
  Document document{
      .title = fmt::format("{} {}", record.simulated() ? "A simulated step in" : "The run in",
                           record.folder.string()),
      .opening = {},
      .tables = {},
      .findings = report.findings,
      .plots = plots_of(report),
      .pictures = report.pictures};
  if (record.simulated())
    document.opening.push_back(
        fmt::format("Nothing was executed: this is {}.", record.facts->ranks_as));
  for (std::string line : headlines(report)) {
    line[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(line[0])));
    document.opening.push_back(line + ".");
  }
  // Problems first; each kind in the order of the rules.
  std::stable_partition(document.findings.begin(), document.findings.end(),
                        [](const Finding& each) { return each.verdict == Verdict::Problem; });
  for (const auto& table :
       {setup_table, speed_table, split_table, between_table, memory_table, incidents_table})
    document.tables.push_back(table(report));
  if (DocumentTable experts = experts_table(report); !experts.rows.empty())
    document.tables.insert(document.tables.end() - 1, std::move(experts));
  if (measure_goodput(report.record.starts).is_worth_telling())
    for (const auto& table : {goodput_table, starts_table})
      document.tables.push_back(table(report));
  if (!report.islands.empty())
    document.tables.insert(document.tables.end() - 1, islands_table(report));
  return document;
}

}  // namespace tessera
