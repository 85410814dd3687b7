// SPDX-License-Identifier: Apache-2.0
// tessera bench kernels: times every kernel of a training step alone and compares it with a lower
// bound.
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/compile_step.h"
#include "exec/device.h"
#include "files/json.h"
#include "ir/op_list.h"
#include "program/buffer_types.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Each kernel runs alone, on operands that are not in the GPU's cache; the time is a median.\n"
    "The floor is a lower bound: the larger of its bytes at the rate of a large copy and its\n"
    "flops at the rate of a large matmul (in fp8 if it multiplies in fp8). The rates are measured\n"
    "first; bytes and flops are counted by the op's own rule, each operand and result once.\n"
    "Examples:\n"
    "  tessera bench kernels --device cuda --model gpt2-124m --batch 64 --seq 1024\n"
    "  tessera bench kernels --device cuda --model llama3-1b --batch 8 --seq 4096 --only "
    "rope,adamw\n"
    "  tessera bench kernels --device cuda --model llama3-8b --batch 2 --seq 4096 --precision "
    "pure_bf16 --warm 0.5";

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (int op = 0; op < kNumOps; ++op) names.emplace_back(name(static_cast<OpKind>(op)));
  return names;
}

struct BenchKernels {
  RunOptions run;
  std::vector<std::string> only;
  double warm_seconds = 0;
};

struct Rates {
  double bytes_per_second, flops_per_second, fp8_flops_per_second;  // fp8: 0 without it
  double floor_seconds(const KernelTime& kernel) const {
    const bool fp8 = kernel.op == OpKind::matmul_fp8 || kernel.op == OpKind::expert_matmul_fp8 ||
                     kernel.op == OpKind::expert_matmul_dw_fp8;
    return std::max(
        static_cast<double>(kernel.cost.bytes) / bytes_per_second,
        static_cast<double>(kernel.cost.flops) / (fp8 ? fp8_flops_per_second : flops_per_second));
  }
};

Json to_json(const std::vector<KernelTime>& times, const Rates& rates) {
  Json json{{"copy_bytes_per_second", rates.bytes_per_second},
            {"matmul_flops_per_second", rates.flops_per_second},
            {"fp8_matmul_flops_per_second", rates.fp8_flops_per_second},
            {"kernels", Json::array()}};
  for (const KernelTime& each : times)
    json["kernels"].push_back({{"op", name(each.op)},
                               {"shape", shape_text(each.operands)},
                               {"calls", each.calls},
                               {"seconds", each.seconds},
                               {"bytes", each.cost.bytes},
                               {"flops", each.cost.flops},
                               {"floor_seconds", rates.floor_seconds(each)}});
  return json;
}

void print_table(const std::vector<KernelTime>& times, const Rates& rates) {
  fmt::print("# copy {:.0f} GB/s, matmul {:.1f} TFLOP/s", rates.bytes_per_second / 1e9,
             rates.flops_per_second / 1e12);
  if (rates.fp8_flops_per_second > 0)
    fmt::print(", in fp8 {:.1f}", rates.fp8_flops_per_second / 1e12);
  fmt::print("\n");
  fmt::print("{:<18} {:>5} {:>9} {:>9} {:>7} {:>8} {:>9} {:>6}  {}\n", "kernel", "calls", "us",
             "ms/step", "GB/s", "TFLOP/s", "floor us", "share", "operands");
  double seconds = 0, floors = 0;
  for (const KernelTime& each : times) {
    if (each.seconds == 0) {
      fmt::print("{:<18} {:>5} {:>9}  {} do not fit in memory\n", name(each.op), each.calls, "-",
                 shape_text(each.operands));
      continue;
    }
    const double floor = rates.floor_seconds(each);
    seconds += each.calls * each.seconds;
    floors += each.calls * floor;
    fmt::print("{:<18} {:>5} {:>9.1f} {:>9.3f} {:>7.0f} {:>8.1f} {:>9.1f} {:>6.2f}  {}\n",
               name(each.op), each.calls, each.seconds * 1e6, each.calls * each.seconds * 1e3,
               static_cast<double>(each.cost.bytes) / each.seconds / 1e9,
               static_cast<double>(each.cost.flops) / each.seconds / 1e12, floor * 1e6,
               floor / each.seconds, shape_text(each.operands));
  }
  fmt::print("{:<18} {:>5} {:>9} {:>9.3f} {:>7} {:>8} {:>9} {:>6.2f}\n", "all", "", "",
             seconds * 1e3, "", "", "", floors / seconds);
}

void run(const BenchKernels& command) {
  const Config config = command.run.load();
  if (is_host(config.run.device))
    throw user_error("bench kernels measures kernels of a GPU, but run.device is {}",
                     name(config.run.device))
        .help("use --device cuda");
  if (!config.mesh.empty())
    throw user_error("bench kernels measures one rank, but the mesh is {}",
                     to_string(Mesh(config.mesh)))
        .help("leave out the mesh");
  const auto wanted = [&](OpKind op) {
    return command.only.empty() || std::ranges::count(command.only, std::string(name(op))) > 0;
  };
  const RunSpec spec = resolve(config);
  const Device& device = require_device(spec.device);
  const Compiled compiled = compile(spec);
  const Rates rates{device.copy_rate(), device.matmul_rate(spec.precision.compute, 1),
                    spec.precision.fp8 ? device.matmul_rate(spec.precision, 1) : 0};
  std::vector<KernelTime> times =
      device.time_kernels(compiled.program(), "train_step", wanted, command.warm_seconds);
  std::ranges::stable_sort(times, std::greater{},
                           [](const KernelTime& each) { return each.calls * each.seconds; });
  if (command.run.json)
    print_json(to_json(times, rates));
  else
    print_table(times, rates);
}

}  // namespace

void add_bench_kernels(Command bench) {
  auto command = std::make_shared<BenchKernels>();
  const Command kernels = bench.add_subcommand(
      "kernels", "time each kernel of a step and compare it with a lower bound");
  kernels.footer(kFooter);
  command->run.defaults = {{"model.preset", "gpt2-124m"},
                           {"train.batch", "64"},
                           {"train.seq", "1024"},
                           {"train.precision", "bf16"}};
  add_run_options(kernels, command->run);
  add_step_forms(kernels, command->run);
  add_short_form(kernels, command->run, "--device", "run.device", "cuda");
  kernels.add_option("--only", command->only, "ops to measure; default: all")
      .delimiter(',')
      .choices(op_names());
  kernels
      .add_option("--warm", command->warm_seconds,
                  "seconds of warm-up for each kernel, so that the GPU's power limit takes effect")
      .range(0.0, 60.0);
  kernels.on_run([command] { run(*command); });
}

}  // namespace tessera
