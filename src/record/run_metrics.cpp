// SPDX-License-Identifier: Apache-2.0
#include "record/run_metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <utility>

#include "files/json.h"
#include "system/process.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

// More would be a series for each, at every scrape: ranks.jsonl has them all.
constexpr size_t kMostRanks = 64;

// What only grows. `tokens` counts by itself; of the others the steps are added up.
bool is_counter(const StepField& field) {
  return field.over_steps == OverSteps::Sum || field.value == &StepRecord::tokens;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// A family: its help and type once, then its samples.
class MetricPage {
 public:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  // `labels`: rank="0",part="compute"; empty: none.
  void sample(double value, std::string_view labels = "") {
    text_ += labels.empty() ? name_ : fmt::format("{}{{{}}}", name_, labels);
    text_ += std::isnan(value)   ? std::string(" NaN\n")
             : std::isinf(value) ? std::string(value > 0 ? " +Inf\n" : " -Inf\n")
                                 : fmt::format(" {}\n", value);
  }
  void only(std::string_view name, std::string_view type, std::string_view help, double value) {
    begin(name, type, help);
    sample(value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_, name_;
};

void add_ranks(MetricPage& page, std::span<const RankTimes> ranks) {
  if (ranks.size() < 2 || ranks.size() > kMostRanks) return;
  struct Part {
    const char* name;
    double (*seconds)(const RankTimes&);
  };
  constexpr Part kParts[] = {
      {"compute", own_seconds},
      {"communication", [](const RankTimes& rank) { return rank.exposed_communication_seconds; }},
      {"bubble", [](const RankTimes& rank) { return rank.bubble_seconds; }}};
  page.begin("tessera_rank_seconds", "gauge",
             "time of a rank in the last step: own work, exposed communication, bubble");
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const Part& part : kParts)
      page.sample(part.seconds(ranks[rank]),
                  fmt::format("rank=\"{}\",part=\"{}\"", rank, part.name));
}

}  // namespace

std::string metric_name(const StepField& field) {
  std::string name = fmt::format("tessera_{}", field.key);
  if (field.unit == Unit::Share) name += "_ratio";
  if (is_counter(field)) name += "_total";
  return name;
}

void RunMetrics::begin(const RunFacts& facts, int64_t total_steps, int64_t earlier_starts) {
  const std::lock_guard lock(mutex_);
  facts_ = facts;
  total_steps_ = total_steps;
  earlier_starts_ = earlier_starts;
}

void RunMetrics::step(const StepRecord& record) {
  const std::lock_guard lock(mutex_);
  stepped_ = true;
  last_.step = record.step;
  for (const StepField& field : step_fields()) {
    const double now = field.of(record);
    double& kept = field.of(last_);
    if (field.over_steps == OverSteps::Sum)
      kept = known(kept).value_or(0) + known(now).value_or(0);
    else if (field.always || known(now))
      kept = now;
  }
}

void RunMetrics::ranks(std::span<const RankTimes> times) {
  const std::lock_guard lock(mutex_);
  if (times.size() <= kMostRanks) ranks_.assign(times.begin(), times.end());
}

void RunMetrics::saved(const SaveOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  ++(outcome.saved ? saves_ : failed_saves_);
  if (!outcome.saved) return;
  saved_step_ = outcome.step;
  saved_at_ = Clock::now();
}

std::string RunMetrics::page() const {
  const std::lock_guard lock(mutex_);
  MetricPage page;
  page.begin("tessera_run_info", "gauge", "what runs: always 1, and what the labels say");
  page.sample(1, fmt::format("model=\"{}\",mesh=\"{}\",device=\"{}\"", escaped(facts_.model),
                             escaped(facts_.mesh), escaped(facts_.device)));
  page.only("tessera_parameters", "gauge", "parameters of the model",
            static_cast<double>(facts_.parameters));
  page.only("tessera_ranks", "gauge", "ranks of the mesh", facts_.ranks);
  page.only("tessera_steps_planned", "gauge", "steps that the run shall make",
            static_cast<double>(total_steps_));
  page.only("tessera_restarts_total", "counter", "earlier starts of this run",
            static_cast<double>(earlier_starts_));
  page.only("tessera_resident_peak_bytes", "gauge",
            "largest resident memory of the process that writes this page",
            static_cast<double>(peak_resident_bytes()));
  page.begin("tessera_checkpoints_total", "counter", "checkpoints of this start");
  page.sample(static_cast<double>(saves_), "result=\"saved\"");
  page.sample(static_cast<double>(failed_saves_), "result=\"failed\"");
  if (saved_step_) {
    page.only("tessera_checkpoint_step", "gauge", "step of the newest checkpoint of this start",
              static_cast<double>(*saved_step_));
    page.only("tessera_checkpoint_age_seconds", "gauge",
              "time since the newest checkpoint of this start was complete",
              seconds_since(saved_at_));
  }
  if (!stepped_) return page.take();
  page.only("tessera_steps_total", "counter", "steps done, earlier starts of the run included",
            static_cast<double>(last_.step));
  for (const StepField& field : step_fields())
    if (const double value = field.of(last_); field.always || known(value))
      page.only(metric_name(field), is_counter(field) ? "counter" : "gauge",
                field.part ? fmt::format("part of the step: {}", field.meaning) : field.meaning,
                value);
  add_ranks(page, ranks_);
  return page.take();
}

int64_t count_starts(const std::filesystem::path& folder) {
  std::ifstream file(folder / "events.jsonl");
  int64_t starts = 0;
  for (std::string line; std::getline(file, line);) {
    const Json* kind = nullptr;
    const Json json = parse_json(line);
    if (json.is_object()) kind = json.find("event");
    if (kind && kind->text() && *kind->text() == "start") ++starts;
  }
  return starts;
}

}  // namespace tessera
