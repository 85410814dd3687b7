// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/order_of_run.h"

#include "checkpoint/snapshot.h"
#include "compiler/compile.h"
#include "config/run_spec.h"
#include "models/presets.h"
#include "studio/question_fields.h"
#include "studio/runs/started_runs.h"
#include "system/process.h"
#include "system/this_machine.h"

namespace tessera {
namespace {

constexpr int kMostRanksHere = 16;
constexpr int64_t kMostOrderedSteps = 1'000'000, kMostBatch = 1 << 16;

// Threads or processes, each with a core of its own or not.
void require_room(const Config& config) {
  const RunSpec spec = resolve(config);
  const int ranks = spec.plan.mesh.num_ranks();
  if (ranks > kMostRanksHere)
    throw user_error("the mesh has {} ranks, but at most {} are started here", ranks,
                     kMostRanksHere)
        .at("mesh")
        .help("use a smaller mesh, or the command line: tessera train, tessera launch");
  const Compiled compiled = compile_beside_snapshot(spec, {});
  const int64_t bytes =
      most_bytes(compiled.programs) + snapshot_bytes_of_rank(spec, compiled.programs);
  require_memory(bytes * ranks, installed_memory_bytes());
}

bool reads_processes(const Json& fields) {
  const std::string as = find_text(fields, "ranks_as").value_or("processes");
  if (as != "processes" && as != "threads")
    throw user_error("the ranks cannot be {}", as)
        .at("ranks_as")
        .help("use processes, which are restarted when one dies, or threads");
  return as == "processes";
}

}  // namespace

std::vector<std::string> RunOrder::settings() const {
  std::vector<std::string> all = {
      fmt::format("model.preset={}", model), fmt::format("train.steps={}", steps),
      fmt::format("checkpoint.every={}", save_every), fmt::format("train.seed={}", seed)};
  if (!mesh.empty()) all.push_back(fmt::format("mesh={}", mesh));
  const auto add = [&](const char* key, int64_t value) {
    if (value > 0) all.push_back(fmt::format("{}={}", key, value));
  };
  add("train.batch", batch);
  add("train.seq", seq);
  add("train.microbatches", microbatches);
  add("train.sample_every", sample_every);
  return all;
}

std::vector<std::string> RunOrder::words(const std::filesystem::path& folder, bool resumes) const {
  std::vector<std::string> all = {"train"};
  if (supervised) all.emplace_back("--supervise");
  if (resumes) all.emplace_back("--resume");
  for (const std::string& setting : settings()) all.insert(all.end(), {"--set", setting});
  all.insert(all.end(), {"--out", std::filesystem::absolute(folder).string()});
  return all;
}

Json RunOrder::json() const {
  return {{"model", model},
          {"mesh", mesh},
          {"ranks_as", supervised ? "processes" : "threads"},
          {"steps", steps},
          {"save_every", save_every},
          {"sample_every", sample_every},
          {"seed", seed},
          {"batch", batch},
          {"seq", seq},
          {"microbatches", microbatches}};
}

RunOrder read_order(const Json& fields) {
  require_known_fields(fields, {"model", "mesh", "ranks_as", "steps", "save_every", "sample_every",
                                "seed", "batch", "seq", "microbatches"});
  RunOrder order;
  order.model = find_text(fields, "model").value_or(order.model);
  find_preset(order.model);
  order.mesh = find_text(fields, "mesh").value_or("");
  order.supervised = reads_processes(fields);
  const auto whole = [&](const char* field, int64_t least, int64_t most, int64_t otherwise) {
    return find_whole(fields, field, {least, most}).value_or(otherwise);
  };
  order.steps = whole("steps", 1, kMostOrderedSteps, order.steps);
  order.save_every = whole("save_every", 1, kMostOrderedSteps, order.save_every);
  order.sample_every = whole("sample_every", 0, kMostOrderedSteps, order.sample_every);
  order.seed = whole("seed", 0, int64_t{1} << 31, order.seed);
  order.batch = whole("batch", 0, kMostBatch, 0);
  order.seq = whole("seq", 0, kMostBatch, 0);
  order.microbatches = whole("microbatches", 0, kMostBatch, 0);
  const Config config = load_config({}, order.settings());
  order.ranks = Mesh(config.mesh).num_ranks();
  require_room(config);
  return order;
}

StartedRuns& allowed_runs(const Question& question) {
  if (!question.started)
    throw UserError("Studio was started without --allow-runs, and only reads")
        .help("start it so: tessera studio out --allow-runs");
  return *question.started;
}

}  // namespace tessera
