// SPDX-License-Identifier: Apache-2.0
// tessera bench step: times a training step and compares it with a lower bound.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/quantities.h"
#include "files/json.h"
#include "measure/step_bench.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "The floor is a lower bound: the time of the matmuls alone, derived from the model's config\n"
    "and not from our program. It counts every matmul once (forward, input gradient and weight\n"
    "gradient of each weight, including the output head; the causal half of attention's two\n"
    "forward and five backward ones), at the rate that OpenBLAS sgemm reaches on those shapes\n"
    "with the same threads: the faster of its own threads and of an even split into\n"
    "single-threaded calls. Norms, softmax, loss, AdamW and the embedding lookup are not\n"
    "counted. floor_ratio = floor / step: 1 would be a step without any other cost. Floor and\n"
    "steps are measured in turns; each number is a median. The floor is always fp32.\n"
    "Examples:\n"
    "  tessera bench step --model gpt2-124m --batch 4 --seq 256\n"
    "  tessera bench step --model gpt2-124m --batch 2 --seq 1024 --profile   where the time goes\n"
    "  tessera bench step --model mlp --batch 128 --json";

constexpr const char* kExamples =
    "Examples:\n"
    "  tessera bench step --model gpt2-124m --batch 4 --seq 256    a step and its lower bound\n"
    "  tessera bench matmul                                        share of the peak, by size\n"
    "  tessera bench kernels --device cuda                         each kernel and its lower "
    "bound\n"
    "  tessera bench scaling --batch 8 --mesh dp=2                 compared with ideal speed-up\n"
    "  tessera bench collectives --ranks 4                         bandwidths and latency\n"
    "  mpirun -np 4 tessera bench collectives --backend mpi\n"
    "Every subcommand has --help.";

struct BenchCommand {
  RunOptions run;
  int steps = 0;
  bool profile = false, by_shape = false;
};

std::string rate(double flops, double seconds) {
  return seconds > 0 ? fmt::format("{:.1f}", flops / seconds / 1e9) : "-";
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json to_json(const BenchCommand& command, const Config& config, const StepBenchResult& result) {
  Json json{{"model", preset_name(config)},
            {"batch", config.train.batch},
            {"seq", config.train.seq},
            {"microbatches", config.train.microbatches},
            {"precision", config.train.precision},
            {"threads", result.threads},
            {"step_seconds", result.step_seconds},
            {"floor_seconds", result.floor_seconds},
            {"floor_ratio", result.floor_ratio},
            {"tokens_per_second", result.tokens_per_second},
            {"joules_per_step", or_null(result.joules_per_step)},
            {"watts", or_null(result.watts)},
            {"mfu", result.mfu},
            {"hfu", result.hfu},
            {"peak_flops_per_second", result.peak_flops_per_second},
            {"peak_bytes", result.peak_bytes},
            {"resident_bytes", result.resident_bytes},
            {"device_bytes", result.device_bytes},
            {"first_step_seconds", result.first_step_seconds},
            {"all_step_seconds", result.all_step_seconds},
            {"loss", result.loss}};
  for (const FloorRate& each : result.floor) {
    const MatmulShape& shape = each.matmul.shape;
    json["floor"].push_back({{"name", each.matmul.name},
                             {"m", shape.m},
                             {"n", shape.n},
                             {"k", shape.k},
                             {"count", each.matmul.count},
                             {"seconds", each.matmul.count * each.seconds}});
  }
  if (command.profile)
    for (const ProfileRow& row : result.profile)
      json["profile"].push_back({{"op", row.op},
                                 {"phase", row.phase},
                                 {"shape", row.shape},
                                 {"calls", row.calls},
                                 {"seconds", row.seconds},
                                 {"flops", row.flops},
                                 {"bytes", row.bytes}});
  return json;
}

void print_profile(const StepBenchResult& result) {
  fmt::print("\n{:<18} {:<12} {:>6} {:>9} {:>7} {:>9} {:>7}  {}\n", "op", "phase", "calls", "ms",
             "share", "GFLOP/s", "GB/s", "");
  double inside = 0;
  double all = 0;
  for (const double seconds : result.all_step_seconds) all += seconds;
  all /= static_cast<double>(result.all_step_seconds.size());
  for (const ProfileRow& row : result.profile) {
    inside += row.seconds;
    fmt::print("{:<18} {:<12} {:>6} {:>9.2f} {:>6.1f}% {:>9} {:>7}  {}\n", row.op, row.phase,
               row.calls, row.seconds * 1e3, 100 * row.seconds / all, rate(row.flops, row.seconds),
               rate(row.bytes, row.seconds), row.shape);
  }
  fmt::print("{:<18} {:<12} {:>6} {:>9.2f} {:>6.1f}%\n", "between ops", "", "",
             (all - inside) * 1e3, 100 * (all - inside) / all);
}

void print_floor(const StepBenchResult& result) {
  fmt::print("\n{:<42} {:>22} {:>8} {:>9} {:>9}\n", "matmuls of the floor", "m x n x k", "count",
             "ms", "GFLOP/s");
  for (const FloorRate& each : result.floor) {
    const MatmulShape& shape = each.matmul.shape;
    fmt::print("{:<42} {:>22} {:>8} {:>9.2f} {:>9}\n", each.matmul.name,
               fmt::format("{}x{}x{}", shape.m, shape.n, shape.k), each.matmul.count,
               each.matmul.count * each.seconds * 1e3, rate(shape.flops(), each.seconds));
  }
}

void print_result(const Config& config, const StepBenchResult& result) {
  fmt::print("{}, batch {} x {}, {}, {} threads, {} steps\n", preset_name(config),
             config.train.batch, config.train.seq, config.train.precision, result.threads,
             result.all_step_seconds.size());
  fmt::print("step_seconds       {:.4f}\n", result.step_seconds);
  if (!result.floor.empty()) {
    fmt::print("floor_seconds      {:.4f}\n", result.floor_seconds);
    fmt::print("floor_ratio        {:.3f}\n", result.floor_ratio);
  }
  fmt::print("tokens_per_second  {:.1f}\n", result.tokens_per_second);
  if (result.joules_per_step)
    fmt::print("joules_per_step    {:.1f} ({:.0f} W)\n", *result.joules_per_step, *result.watts);
  fmt::print("mfu                {:.3f} of {:.1f} GFLOP/s{}\n", result.mfu,
             result.peak_flops_per_second / 1e9,
             result.mfu > 1 && config.run.peak_gflops == 0 ? " (measured on a busy machine)" : "");
  fmt::print("hfu                {:.3f} (all flops that the program runs)\n", result.hfu);
  fmt::print("peak_bytes         {} ({}), resident {}\n", result.peak_bytes,
             short_bytes(result.peak_bytes), short_bytes(result.resident_bytes));
}

void run(const BenchCommand& command) {
  const Config config = command.run.load();
  if (!config.mesh.empty())
    throw user_error("bench step measures one rank, but the mesh is {}",
                     to_string(Mesh(config.mesh)))
        .help("use tessera bench scaling");
  const StepBenchResult result = bench_step(
      config, {.steps = command.steps,
               .profile = command.profile,
               .profile_by_shape = command.by_shape,
               .progress = [](std::string_view text) { fmt::print(stderr, "{}\n", text); }});
  if (command.run.json) {
    print_json(to_json(command, config, result));
    return;
  }
  print_result(config, result);
  if (!command.profile) return;
  print_profile(result);
  print_floor(result);
}

}  // namespace

void add_bench_command(Command app) {
  auto command = std::make_shared<BenchCommand>();
  const Command bench = app.add_subcommand("bench", "measure speed");
  bench.require_subcommand();
  add_bench_calibrate(bench);
  bench.footer(kExamples);
  add_bench_collectives(bench);
  add_bench_experts(bench);
  add_bench_generate(bench);
  add_bench_kernels(bench);
  add_bench_matmul(bench);
  add_bench_scaling(bench);
  add_bench_data(bench);
  add_bench_tokenizer(bench);
  const Command step =
      bench.add_subcommand("step", "time a training step and compare it with a lower bound");
  step.footer(kFooter);
  add_run_options(step, command->run);
  add_step_forms(step, command->run);
  add_short_form(step, command->run, "--threads", "train.threads", "threads; 0: all cores");
  add_short_form(step, command->run, "--device", "run.device", "where to run, as for train");
  step.add_option("--steps", command->steps, "steps to measure; 0: about ten seconds of them")
      .not_negative();
  const Option profile =
      step.add_flag("--profile", command->profile,
                    "also show seconds per kind of op, and the matmuls of the lower bound");
  step.add_flag("--by-shape", command->by_shape, "separate shapes in the profile").needs(profile);
  step.on_run([command] { run(*command); });
}

}  // namespace tessera
