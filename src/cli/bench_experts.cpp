// SPDX-License-Identifier: Apache-2.0
// tessera bench experts: the grouped product of experts beside one product of the same rows.
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "files/json.h"
#include "measure/grouped_bench.h"
#include "system/threads.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "fp32 on cores. Every expert has the same number of rows; one product multiplies all of them\n"
    "by the weights of the first. Both are measured in turns; each number is the median of the\n"
    "rounds.\n"
    "Examples:\n"
    "  tessera bench experts\n"
    "  tessera bench experts --experts 64 --rows 16,64,256 --threads 1 --json";

struct BenchExperts {
  std::vector<int64_t> rows{64};
  int64_t experts = 8;
  int threads = 0, rounds = 5;
  bool json = false;
};

constexpr int64_t kSides[][2] = {{128, 128}, {256, 128}, {512, 512}, {2048, 1024}};  // n, k

void run(const BenchExperts& command) {
  GroupedBenchOptions options{.threads = threads_or_cores(command.threads),
                              .rounds = command.rounds};
  for (const int64_t rows : command.rows)
    for (const auto& [n, k] : kSides)
      options.shapes.push_back({.experts = command.experts, .rows = rows, .n = n, .k = k});
  const std::vector<GroupedBenchRow> measured = bench_grouped(options);
  Json json{{"threads", options.threads}, {"results", Json::array()}};
  if (!command.json)
    fmt::print("# {} threads\n{:>8} {:>8} {:>12} {:>10} {:>12} {:>10}\n", options.threads,
               "experts", "rows", "n x k", "GFLOP/s", "one product", "grouped / it");
  for (const GroupedBenchRow& row : measured) {
    const GroupedShape& shape = row.shape;
    const double grouped = shape.flops() / row.grouped_seconds,
                 one = shape.flops() / row.one_seconds;
    if (!command.json)
      fmt::print("{:>8} {:>8} {:>12} {:>10.1f} {:>12.1f} {:>10.3f}\n", shape.experts, shape.rows,
                 fmt::format("{}x{}", shape.n, shape.k), grouped / 1e9, one / 1e9, row.ratio());
    json["results"].push_back({{"experts", shape.experts},
                               {"rows", shape.rows},
                               {"n", shape.n},
                               {"k", shape.k},
                               {"flops_per_second", grouped},
                               {"one_product_flops_per_second", one},
                               {"ratio", row.ratio()}});
  }
  if (command.json) print_json(json);
}

}  // namespace

void add_bench_experts(Command bench) {
  auto command = std::make_shared<BenchExperts>();
  const Command experts = bench.add_subcommand(
      "experts", "time the grouped product of experts beside one product of the same rows");
  experts.footer(kFooter);
  experts.add_option("--experts", command->experts, "number of experts")
      .range(1, 1024)
      .show_default();
  experts.add_option("--rows", command->rows, "rows of each expert")
      .delimiter(',')
      .range(1, 65536)
      .show_default();
  experts.add_option("--threads", command->threads, "threads; 0: all cores").range(0, 1024);
  experts.add_option("--rounds", command->rounds, "times to measure").range(1, 1000);
  add_json_flag(experts, command->json);
  experts.on_run([command] { run(*command); });
}

}  // namespace tessera
