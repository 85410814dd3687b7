// SPDX-License-Identifier: Apache-2.0
// tessera bench generate: the first token and the later ones, beside what the device allows.
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "exec/device.h"
#include "files/json.h"
#include "inference/generation_bench.h"
#include "measure/collective_bench.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Of random weights; each number is the median of the rounds. A later token reads all weights\n"
    "once: its lower bound is their bytes at the rate of a copy, which counts what it reads and "
    "what\n"
    "it writes. The first token needs the products of the prompt: its lower bound is their flops "
    "at\n"
    "the rate of a large matmul.\n"
    "Examples:\n"
    "  tessera bench generate --model gpt2-124m --prompt-tokens 128\n"
    "  tessera bench generate --device cuda --model llama3-8b --precision bf16 --prompt-tokens "
    "4096 --json";

struct BenchGenerate {
  RunOptions run;
  GenerationBenchOptions options;
  int64_t texts = 1;
};

struct GenerationBounds {
  double token_seconds, first_token_seconds;
};

GenerationBounds bounds_of(const GenerationBench& bench, const RunSpec& spec, int threads) {
  const Device& device = require_device(spec.device);
  const double copy_rate =
      is_host(spec.device) ? copy_bytes_per_second(threads) : device.copy_rate();
  return {.token_seconds = bench.weight_bytes / copy_rate,
          .first_token_seconds =
              bench.prompt_flops / device.matmul_rate(spec.precision.compute, threads)};
}

void print_bench(const BenchGenerate& command, const GenerationBench& bench,
                 const GenerationBounds& bounds) {
  const auto texts = static_cast<double>(command.texts);
  fmt::print("{:<24} {:>12} {:>12} {:>14}\n", "", "seconds", "lower bound", "bound / it");
  fmt::print("{:<24} {:>12.5f} {:>12.5f} {:>14.3f}\n",
             fmt::format("first token of {}", command.options.prompt_tokens),
             bench.first_token_seconds, bounds.first_token_seconds,
             bounds.first_token_seconds / bench.first_token_seconds);
  fmt::print("{:<24} {:>12.5f} {:>12.5f} {:>14.3f}\n", "later token", bench.later_token_seconds,
             bounds.token_seconds, bounds.token_seconds / bench.later_token_seconds);
  fmt::print("{:.1f} tokens/s over {} text{}; weights {}, planned {}\n",
             texts / bench.later_token_seconds, command.texts, command.texts == 1 ? "" : "s",
             short_bytes(static_cast<int64_t>(bench.weight_bytes)),
             short_bytes(bench.planned_bytes));
}

void run_bench(const BenchGenerate& command) {
  const RunSpec spec = resolve(command.run.load());
  require_device(spec.device);
  const int threads = is_host(spec.device) ? spec.threads : 1;
  const GenerationBench bench = bench_generation(
      spec.model, spec.precision.compute,
      {.texts = command.texts, .threads = threads, .device = spec.device}, command.options);
  const GenerationBounds bounds = bounds_of(bench, spec, threads);
  if (!command.run.json) return print_bench(command, bench, bounds);
  print_json({{"first_token_seconds", bench.first_token_seconds},
              {"first_token_bound_seconds", bounds.first_token_seconds},
              {"later_token_seconds", bench.later_token_seconds},
              {"later_token_bound_seconds", bounds.token_seconds},
              {"tokens_per_second", static_cast<double>(command.texts) / bench.later_token_seconds},
              {"weight_bytes", bench.weight_bytes},
              {"planned_bytes", bench.planned_bytes}});
}

}  // namespace

void add_bench_generate(Command bench) {
  auto command = std::make_shared<BenchGenerate>();
  const Command generate = bench.add_subcommand(
      "generate", "time the first token and later ones, and compare them with lower bounds");
  generate.footer(kFooter);
  add_run_options(generate, command->run);
  add_short_form(generate, command->run, "--precision", "train.precision",
                 "fp32, bf16 or fp64: that of weights and cache");
  add_short_form(generate, command->run, "--threads", "train.threads", "threads; 0: all cores");
  add_short_form(generate, command->run, "--device", "run.device", "where to run, as for train");
  generate.add_option("--prompt-tokens", command->options.prompt_tokens, "tokens of each prompt")
      .range(1, 1 << 20)
      .show_default();
  generate.add_option("--tokens", command->options.tokens, "tokens to write")
      .range(static_cast<int>(kUncounted) + 1, 1 << 20)
      .show_default();
  generate.add_option("--texts", command->texts, "texts that are written together")
      .range(1, 4096)
      .show_default();
  generate.add_option("--rounds", command->options.rounds, "times to measure").range(1, 1000);
  generate.on_run([command] { run_bench(*command); });
}

}  // namespace tessera
