// SPDX-License-Identifier: Apache-2.0
// The question `offers`: what can be trained on this machine, and on which meshes; by the memory
// that the compiler plans.
#include <algorithm>
#include <thread>

#include "checkpoint/snapshot.h"
#include "compiler/compile.h"
#include "config/run_spec.h"
#include "models/model_size.h"
#include "models/presets.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/order_of_run.h"
#include "system/this_machine.h"

namespace tessera {
namespace {

constexpr double kLeastBytesPerParameter = 16;  // weights, gradients, two moments
constexpr double kShareOfMemory = 0.5;          // others run here, too

// Of one rank; nothing where it does not fit.
std::optional<int64_t> planned_bytes_of(const Preset& preset) {
  const double memory = kShareOfMemory * installed_memory_bytes();
  const auto parameters = static_cast<double>(parameter_count(resolved(preset.config)));
  if (kLeastBytesPerParameter * parameters > memory) return {};
  RunOrder order;
  order.model = preset.name;
  const RunSpec spec = resolve(load_config({}, order.settings()));
  const Compiled compiled = compile_beside_snapshot(spec, {});
  const int64_t bytes =
      most_bytes(compiled.programs) + snapshot_bytes_of_rank(spec, compiled.programs);
  return static_cast<double>(bytes) <= memory ? std::optional(bytes) : std::nullopt;
}

Json offered_models() {
  Json models = Json::array();
  for (const Preset& preset : presets()) {
    const std::optional<int64_t> bytes = planned_bytes_of(preset);
    if (!bytes) continue;
    models.push_back({{"name", preset.name},
                      {"summary", preset.summary},
                      {"parameters", parameter_count(resolved(preset.config))},
                      {"bytes", *bytes}});
  }
  return models;
}

}  // namespace

Answer answer_offers(const Question& question) {
  allowed_runs(question);
  require_known_fields(question.fields, {});
  static const Json models = offered_models();
  return {.json = {{"models", models},
                   {"meshes", std::vector<std::string>{"dp=1", "dp=2", "tp=2", "fsdp=2", "pp=2",
                                                       "cp=2", "dp=2,tp=2"}},
                   {"cores", std::thread::hardware_concurrency()},
                   {"memory_bytes", installed_memory_bytes()},
                   {"defaults", RunOrder{.mesh = "dp=2"}.json()}}};
}

}  // namespace tessera
