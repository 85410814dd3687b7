// SPDX-License-Identifier: Apache-2.0
// The report for other programs; keys are pinned by tests/json_keys, null means not recorded.

#include "config/run_spec.h"
#include "files/json.h"
#include "report/goodput.h"
#include "report/islands_table.h"
#include "report/report.h"

namespace tessera {
namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json or_null(double value) { return value > 0 ? Json(value) : Json(); }
Json or_null(int64_t value) { return value > 0 ? Json(value) : Json(); }
Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json split_json(const RunFigures& figures) {
  const StepTimes* split = figures.split();
  if (!split) return {};
  Json json;
  for (const TimePart& part : kTimeParts) json[part.key] = or_null(known(split->*part.seconds));
  json["other_seconds"] = split->other_seconds + split->between_steps_seconds;
  json["seconds"] = split->total_seconds();
  return json;
}

Json machine_json(const RunRecord& record) {
  if (!record.facts) return {};
  const RunFacts& facts = *record.facts;
  return {{"device", or_null(facts.device)},
          {"count", facts.device_count},
          {"unit", facts.device_unit},
          {"nodes", facts.nodes},
          {"interconnect", or_null(facts.interconnect)},
          {"ranks", facts.ranks},
          {"ranks_as", or_null(facts.ranks_as)},
          {"threads_per_rank", facts.threads_per_rank},
          {"peak_flops_per_second", or_null(record.peak_flops_per_second)},
          {"peak_arithmetic", or_null(record.peak_arithmetic)},
          {"peak_measured", record.peak_measured}};
}

Json plan_json(const RunRecord& record) {
  if (!record.config) return {};
  const Config& config = *record.config;
  const RunFacts facts = record.facts.value_or(RunFacts{});
  return {{"model", model_name(config)},
          {"parameters", or_null(facts.parameters)},
          {"mesh", to_string(Mesh(config.mesh))},
          {"zero", resolve_zero(config)},
          {"sequence_parallel", config.plan.sequence_parallel},
          {"context", name(config.plan.context)},
          {"schedule", config.plan.schedule},
          {"stages", facts.stages},
          {"schedule_bubble", record.facts ? Json(facts.schedule_bubble) : Json()},
          {"recompute", config.plan.recompute},
          {"batch", config.train.batch},
          {"microbatches", config.train.microbatches},
          {"tokens_per_step", or_null(facts.tokens_per_step)},
          {"seq", config.train.seq},
          {"precision", config.train.precision},
          {"repeatable", config.train.repeatable},
          {"save_every", config.checkpoint.every}};
}

Json spent_json(const Spent& spent) {
  return {{"times", spent.times}, {"seconds", spent.seconds}, {"bytes", or_null(spent.bytes)}};
}

Json results_json(const Report& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings)
    findings.push_back({{"rule", finding.rule},
                        {"title", finding.title},
                        {"verdict", name(finding.verdict)},
                        {"answer", finding.answer},
                        {"advice", finding.advice}});
  return findings;
}

Json stalls_json(const Report& report) {
  Json stalls = Json::array();
  for (const Stall& stall : report.stalls)
    stalls.push_back({{"step", stall.step},
                      {"seconds", stall.seconds},
                      {"times_median", stall.times_median},
                      {"grew", or_null(stall.grew)}});
  return stalls;
}

Json experts_json(const StepRecord& step) {
  Json layers = Json::object();
  for (const ExpertLoad& layer : step.loads) layers[layer.block] = layer.counts;
  return {{"step", step.step},
          {"load_violation", or_null(known(step.load_violation))},
          {"starving_experts", or_null(known(step.starving_experts))},
          {"loads", layers}};
}

}  // namespace

std::string to_json_text(const Report& report) {
  const RunFigures& f = report.figures;
  const RunFacts facts = report.record.facts.value_or(RunFacts{});
  Json json{{"folder", report.record.folder.string()},
            {"source", report.record.facts ? Json(facts.source) : Json()},
            {"machine", machine_json(report.record)},
            {"plan", plan_json(report.record)},
            {"first_step", f.first_step},
            {"last_step", f.last_step},
            {"counted_steps", f.counted_steps},
            {"step_seconds", or_null(known(f.mean.step_seconds))},
            {"median_step_seconds", or_null(f.median_step_seconds)},
            {"slowest_step_seconds", or_null(f.slowest_step_seconds)},
            {"all_tokens_per_second", or_null(f.all_tokens_per_second)},
            {"mfu_full_attention", or_null(f.mfu_full)},
            {"hardware_flops", or_null(facts.hardware_flops)},
            {"recompute_flops", report.record.facts ? Json(facts.recompute_flops) : Json()},
            {"split", split_json(f)},
            {"checkpoints", spent_json(f.checkpoints)},
            {"evaluations", spent_json(f.evaluations)},
            {"peak_bytes", or_null(f.peak_bytes)},
            {"all_peak_bytes", or_null(f.all_peak_bytes)},
            {"first_loss", or_null(f.first_loss)},
            {"loss", or_null(f.last_loss)},
            {"held_out_loss", or_null(f.held_out_loss)},
            {"stalls", stalls_json(report)},
            {"failures", report.failures},
            {"results", results_json(report)}};
  if (!report.record.starts.empty()) json["goodput"] = to_json(goodput_report(report.record));
  for (const StepRecord& step : report.record.steps)
    if (!step.loads.empty()) json["experts"] = experts_json(step);
  if (!report.islands.empty()) json["islands"] = islands_json(report);
  for (const StepField& field : step_fields())
    if (field.label) json[field.key] = or_null(known(field.of(f.mean)));
  return json.dump();
}

}  // namespace tessera
