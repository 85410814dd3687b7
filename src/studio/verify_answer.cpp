// SPDX-License-Identifier: Apache-2.0
// The question `verify`: a run's plan executed on a small model of its family, beside one rank.
#include <algorithm>
#include <limits>

#include "studio/asked_run.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/verify_json.h"

namespace tessera {
namespace {

constexpr int kMostVerifiedRanks = 256;
constexpr int kMostVerifiedSteps = 8;

}  // namespace

RunSpec spec_to_verify(const Config& config, DType precision, bool shrink) {
  RunSpec spec = shrink ? resolve_shrunk(config) : resolve(config);
  const int64_t wider = size_bytes(precision) / size_bytes(spec.precision.compute);
  spec.memory_bytes *= std::max<int64_t>(1, wider);
  spec.precision = precision;
  spec.plan.fp8.reset();
  spec.plan.expert_room = std::numeric_limits<double>::infinity();  // nobody repeats a step
  return spec;
}

Json to_json(const VerifyReport& report) {
  Json json{{"loss_error", report.loss.error},
            {"loss_allowed", report.loss.allowed},
            {"grad_norm_error", report.grad_norm.error},
            {"grad_norm_allowed", report.grad_norm.allowed},
            {"gradient_error", report.gradient.error},
            {"gradient_allowed", report.gradient.allowed},
            {"gradient_worst", report.gradient.name},
            {"parameter_error", report.parameter.error},
            {"parameter_allowed", report.parameter.allowed},
            {"parameter_worst", report.parameter.name},
            {"replica_error", report.replica.error},
            {"replica_worst", report.replica.name},
            {"equal", report.equal()}};
  if (report.router.known()) {
    json["router_margin"] = report.router.gap;
    json["router_margin_at"] = report.router.place;
    json["undecided"] = report.undecided();
  }
  if (report.routes.routes > 0) {
    json["routes"] = report.routes.routes;
    json["routes_off"] = report.routes.off;
  }
  for (const VerifiedRank& rank : report.ranks)
    json["ranks"].push_back(
        {{"rank", rank.rank}, {"loss", rank.loss}, {"parameters", rank.digest}});
  return json;
}

Json to_json(const VerifyIslandsReport& report) {
  return Json{{"loss_error", report.loss.error},
              {"grad_norm_error", report.grad_norm.error},
              {"gradient_error", report.gradient.error},
              {"parameter_error", report.parameter.error},
              {"parameter_worst", report.parameter.name},
              {"combined_error", report.combined.error},
              {"combined_worst", report.combined.name},
              {"allowed", report.combined.allowed},
              {"steps", report.steps},
              {"exchanges", report.exchanges},
              {"equal", report.equal()}};
}

std::string verdict_of(const VerifyReport& report) {
  if (report.undecided()) return fmt::format("undecided: tie in {}", report.router.place);
  return report.equal() ? "equal" : "NOT equal";
}

// The maths is that of fp64, on the CPU: what a cluster would round is not asked.
Answer answer_verify(const Question& question) {
  require_known_fields(question.fields, {"run", "steps", "show_ranks"});
  const AskedRun run = asked_run(question);
  RunSpec spec = spec_to_verify(run.config, DType::Fp64, true);
  spec.device = DeviceKind::Cpu;
  const int ranks = spec.plan.mesh.num_ranks();
  if (ranks > kMostVerifiedRanks)
    throw user_error("the plan has {} ranks, but at most {} are run here", ranks,
                     kMostVerifiedRanks)
        .at("mesh")
        .help("make the data axes smaller: the program of a rank stays the same");
  const auto steps = static_cast<int>(find_whole(question.fields, "steps", {1, kMostVerifiedSteps})
                                          .value_or(VerifyOptions{}.steps));
  const auto tell = [&](const VerifyProgress& at) {
    return !question.tell || question.tell({{"step", at.step},
                                            {"steps", at.steps},
                                            {"ranks", at.on_mesh ? ranks : 1},
                                            {"done", false}});
  };
  const VerifyReport report =
      verify_plan(spec, {.steps = steps,
                         .seed = static_cast<uint64_t>(run.config.train.seed),
                         .show_ranks = find_flag(question.fields, "show_ranks").value_or(false),
                         .progress = tell});
  if (report.cancelled) return {{{"done", true}, {"cancelled", true}}};
  Json json = to_json(report);
  json["done"] = true;
  json["verdict"] = verdict_of(report);
  json["title"] = fmt::format("{} ranks ({}) against one, {} steps in {}", ranks,
                              to_string(spec.plan.mesh), steps, name(spec.precision));
  json["command"] = fmt::format("tessera verify --shrink --steps {}{}", steps,
                                flags_of(run.without([](std::string_view key) {
                                  return key == "train.precision" || key == "run.device";
                                }),
                                         false));
  return {std::move(json)};
}

}  // namespace tessera
