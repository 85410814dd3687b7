// SPDX-License-Identifier: Apache-2.0
// tessera bench matmul: compares our matmul with OpenBLAS's, as shares of the cores' peak.
#include <memory>

#include "cli/bench_gpu_matmul.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "files/json.h"
#include "measure/matmul_bench.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Squares, then the matmuls of one layer of the model over batch x seq rows: forward, input\n"
    "gradient and weight gradient of each weight. The peak is measured: fp32 multiply-adds on\n"
    "registers only, with the same threads; bf16 is multiplied in fp32 and has the same peak.\n"
    "OpenBLAS is the faster of its own threads and of an even split into single-threaded calls;\n"
    "it is not measured in bf16. All are measured in turns; each number is a median of the\n"
    "rounds, the peak the best. With --device cuda: cuBLASLt's rate in TFLOP/s with the fastest\n"
    "measured algorithm, and the MFU of a wide relu mlp in training; by default squares of 512\n"
    "to 32768 in bf16 and fp8.\n"
    "Examples:\n"
    "  tessera bench matmul\n"
    "  tessera bench matmul --sizes 512,1024 --dtypes fp32,bf16 --threads 1\n"
    "  tessera bench matmul --model llama3-1b --batch 1 --seq 512 --json\n"
    "  tessera bench matmul --device cuda --batch 64";

struct BenchMatmul {
  RunOptions run;
  std::vector<int64_t> sizes{512, 1024, 2048, 4096};
  std::vector<std::string> dtypes{"fp32"};
  int rounds = 3;
  bool sizes_given = false, dtypes_given = false;
};

double rate(const MatmulBenchRow& row, double seconds) {
  return seconds > 0 ? row.matmul.shape.flops() / seconds : 0;
}

Json to_json(const Config& config, int threads, const MatmulBenchResult& result) {
  Json json{{"model", preset_name(config)},
            {"batch", config.train.batch},
            {"seq", config.train.seq},
            {"threads", threads},
            {"peak_flops_per_second", result.peak_flops_per_second},
            {"results", Json::array()}};
  for (const MatmulBenchRow& row : result.rows) {
    const MatmulShape& shape = row.matmul.shape;
    Json one{{"name", row.matmul.name},
             {"m", shape.m},
             {"n", shape.n},
             {"k", shape.k},
             {"a_transposed", shape.a_transposed},
             {"b_transposed", shape.b_transposed},
             {"dtype", name(row.dtype)},
             {"seconds", row.own_seconds},
             {"flops_per_second", rate(row, row.own_seconds)},
             {"peak_share", row.own_peak_share},
             {"openblas_seconds", nullptr},
             {"openblas_flops_per_second", nullptr},
             {"openblas_peak_share", nullptr}};
    if (row.openblas_seconds > 0) {
      one["openblas_seconds"] = row.openblas_seconds;
      one["openblas_flops_per_second"] = rate(row, row.openblas_seconds);
      one["openblas_peak_share"] = row.openblas_peak_share;
    }
    json["results"].push_back(std::move(one));
  }
  return json;
}

void print_table(int threads, const MatmulBenchResult& result) {
  fmt::print("# {} threads; peak {:.1f} GFLOP/s of fp32 multiply-adds\n", threads,
             result.peak_flops_per_second / 1e9);
  fmt::print("{:<22} {:>18} {:>6} {:>9} {:>7} {:>9} {:>7} {:>8}\n", "matmul", "m x n x k", "type",
             "GFLOP/s", "of peak", "OpenBLAS", "of peak", "ours / it");
  for (const MatmulBenchRow& row : result.rows) {
    const MatmulShape& shape = row.matmul.shape;
    fmt::print("{:<22} {:>18} {:>6} {:>9.1f} {:>7.3f}", row.matmul.name,
               fmt::format("{}x{}x{}", shape.m, shape.n, shape.k), name(row.dtype),
               rate(row, row.own_seconds) / 1e9, row.own_peak_share);
    if (row.openblas_seconds > 0)
      fmt::print(" {:>9.1f} {:>7.3f} {:>9.3f}\n", rate(row, row.openblas_seconds) / 1e9,
                 row.openblas_peak_share, row.openblas_seconds / row.own_seconds);
    else
      fmt::print(" {:>9} {:>7} {:>9}\n", "-", "-", "-");
  }
}

std::vector<NamedMatmul> matmuls_of(const std::vector<int64_t>& sizes, const Config& config) {
  std::vector<NamedMatmul> matmuls;
  for (const int64_t size : sizes)
    matmuls.push_back({fmt::format("{}", size), {.m = size, .n = size, .k = size}});
  const RunSpec spec = resolve(config);
  for (NamedMatmul& matmul : layer_matmuls(spec.model, spec.microbatch))
    matmuls.push_back(std::move(matmul));
  return matmuls;
}

void run_on_gpu(const BenchMatmul& command, const Config& config) {
  const std::vector<int64_t> sizes{512, 1024, 2048, 4096, 8192, 16384, 32768};
  const bool all = !command.sizes_given && !command.dtypes_given;
  bench_gpu_matmul(command.run, matmuls_of(command.sizes_given ? command.sizes : sizes, config),
                   command.dtypes_given ? command.dtypes : std::vector<std::string>{"bf16", "fp8"},
                   all);
}

void run(const BenchMatmul& command) {
  const Config config = command.run.load();
  if (!is_host(config.run.device)) return run_on_gpu(command, config);
  MatmulBenchOptions options{
      .matmuls = matmuls_of(command.sizes, config),
      .threads = resolve_threads(config),
      .rounds = command.rounds,
      .progress = [](std::string_view text) { fmt::print(stderr, "{}\n", text); }};
  options.dtypes.clear();
  for (const std::string& dtype : command.dtypes) {
    if (dtype == "fp8")
      throw user_error("--dtypes has fp8, which a cpu cannot multiply").help("use --device cuda");
    options.dtypes.push_back(*dtype_from_name(dtype));
  }
  const MatmulBenchResult result = bench_matmul(options);
  if (command.run.json)
    print_json(to_json(config, options.threads, result));
  else
    print_table(options.threads, result);
}

}  // namespace

void add_bench_matmul(Command bench) {
  auto command = std::make_shared<BenchMatmul>();
  const Command matmul =
      bench.add_subcommand("matmul", "time matmuls by size, as shares of the peak");
  matmul.footer(kFooter);
  command->run.defaults = {
      {"model.preset", "gpt2-124m"}, {"train.batch", "1"}, {"train.seq", "1024"}};
  add_run_options(matmul, command->run);
  add_short_form(matmul, command->run, "--batch", "train.batch", "samples");
  add_short_form(matmul, command->run, "--seq", "train.seq", "tokens per sample");
  add_short_form(matmul, command->run, "--threads", "train.threads", "threads; 0: all cores");
  add_short_form(matmul, command->run, "--device", "run.device", "what to measure, as for train");
  matmul.add_option("--sizes", command->sizes, "sides of the squares")
      .delimiter(',')
      .range(1, 32768)
      .show_default();
  matmul.add_option("--dtypes", command->dtypes, "some of fp32, bf16 and, on a GPU, fp8")
      .delimiter(',')
      .choices({"fp32", "bf16", "fp8"})
      .show_default();
  matmul.add_option("--rounds", command->rounds, "number of rounds over all matmuls")
      .positive()
      .show_default();
  matmul.on_run([command, matmul] {
    command->sizes_given = matmul.given("--sizes");
    command->dtypes_given = matmul.given("--dtypes");
    run(*command);
  });
}

}  // namespace tessera
