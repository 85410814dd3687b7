// SPDX-License-Identifier: Apache-2.0
#include "train/train_summary.h"

#include "measure/utilisation.h"
#include "system/process.h"

namespace tessera {

void count_step(TrainSummary& summary, const StepRecord& record) {
  if (record.step == summary.first_step + 1) summary.first_loss = record.loss;
  summary.last_loss = record.loss;
  summary.losses.push_back(record.loss);
  summary.seconds += record.step_seconds;
  summary.times += record.times;
}

void finish_summary(TrainSummary& summary, const CheckpointPosition& position,
                    double hardware_flops) {
  summary.steps = position.step;
  const auto done = static_cast<double>(position.step - summary.first_step);
  const double peak = summary.peak_flops_per_second;
  const double tokens_per_step =
      done > 0 ? static_cast<double>(position.tokens) / static_cast<double>(position.step) : 0;
  summary.tokens_per_second = summary.seconds > 0 ? done * tokens_per_step / summary.seconds : 0;
  summary.mfu =
      model_flops_utilisation(summary.flops_per_token.causal, summary.tokens_per_second, peak);
  summary.mfu_full =
      model_flops_utilisation(summary.flops_per_token.full, summary.tokens_per_second, peak);
  if (done > 0) {
    summary.hfu = hardware_flops_utilisation(hardware_flops, summary.seconds / done, peak);
    summary.times /= done;
  }
  if (summary.saves > 0) {
    summary.save_stall_seconds /= static_cast<double>(summary.saves);
    summary.save_written_seconds /= static_cast<double>(summary.saves);
  }
  summary.resident_bytes = peak_resident_bytes();
}

Json to_json(const TrainSummary& summary) {
  Json json{{"first_step", summary.first_step},
            {"steps", summary.steps},
            {"parameters", summary.parameters},
            {"first_loss", summary.first_loss},
            {"loss", summary.last_loss},
            {"seconds", summary.seconds},
            {"tokens_per_second", summary.tokens_per_second},
            {"mfu", summary.mfu},
            {"mfu_full_attention", summary.mfu_full},
            {"hfu", summary.hfu},
            {"flops_per_token", summary.flops_per_token.causal},
            {"peak_flops_per_second", summary.peak_flops_per_second},
            {"peak_bytes", summary.planned_bytes},
            {"resident_bytes", summary.resident_bytes},
            {"out", summary.out.string()}};
  for (const TimePart& part : kTimeParts)
    if (part.recorded) json[part.key] = summary.times.*part.seconds;
  if (summary.held_out_loss) json["held_out_loss"] = *summary.held_out_loss;
  if (!summary.trace.empty()) json["trace"] = summary.trace;
  if (summary.checkpoint) json["checkpoint"] = summary.checkpoint->string();
  if (summary.saves > 0)
    json["checkpoints"] = {{"saves", summary.saves},
                           {"bytes", summary.save_bytes},
                           {"stall_seconds", summary.save_stall_seconds},
                           {"written_seconds", summary.save_written_seconds}};
  if (!summary.stopped_by.empty()) json["stopped_by"] = summary.stopped_by;
  if (!summary.warnings.empty()) json["warnings"] = summary.warnings;
  return json;
}

}  // namespace tessera
