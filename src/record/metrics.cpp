// SPDX-License-Identifier: Apache-2.0
#include "record/metrics.h"

#include <string_view>
#include <utility>

#include "files/json.h"

namespace tessera {
namespace {

// Steps ascend: what is behind the step stands at the end.
bool is_line_up_to(std::string_view line, int64_t step) {
  const Json json = parse_json(line);
  const Json* own = json.find("step");
  return own && own->integer() && *own->integer() <= step;
}

Json json_of(const StepMetrics& m) {
  Json json{{"step", m.step},
            {"loss", m.loss},
            {"grad_norm", m.grad_norm},
            {"lr", m.lr},
            {"tokens", m.tokens},
            {"tokens_per_second", m.tokens_per_second},
            {"mfu", m.mfu},
            {"hfu", m.hfu},
            {"step_seconds", m.step_seconds},
            {"compute_seconds", m.split.compute_seconds},
            {"exposed_communication_seconds", m.split.exposed_communication_seconds},
            {"bubble_seconds", m.split.bubble_seconds},
            {"data_seconds", m.data_seconds},
            {"elapsed_seconds", m.elapsed_seconds},
            {"peak_bytes", m.peak_bytes}};
  if (m.spread) {
    json["slowest_rank"] = m.spread->slowest_rank;
    json["slowest_rank_seconds"] = m.spread->slowest_seconds;
    json["fastest_rank_seconds"] = m.spread->fastest_seconds;
  }
  if (m.skipped) json["skipped"] = 1;
  if (m.held_out_loss) json["held_out_loss"] = *m.held_out_loss;
  if (m.checkpoint_stall_seconds) json["checkpoint_stall_seconds"] = *m.checkpoint_stall_seconds;
  return json;
}

}  // namespace

std::string to_json_line(const StepMetrics& metrics) {
  // A loss that is not a number becomes null, as JSON has no word for it.
  return json_of(metrics).dump();
}

std::vector<Scalar> scalars_of(const StepMetrics& metrics) {
  std::vector<Scalar> scalars;
  const Json json = json_of(metrics);
  for (const auto& [name, value] : json.members())
    if (name != "step") scalars.push_back({name, value.number().value()});
  return scalars;
}

MetricsWriter::MetricsWriter(const std::filesystem::path& path, std::optional<int64_t> resumed_step,
                             Warn warn)
    : file_(path, resumed_step.has_value(), std::move(warn),
            [&](std::string_view line) { return is_line_up_to(line, *resumed_step); }) {}

}  // namespace tessera
