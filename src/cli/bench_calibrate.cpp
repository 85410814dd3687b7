// SPDX-License-Identifier: Apache-2.0
// tessera bench calibrate: measures this machine and writes a cluster file.
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "core/error.h"
#include "exec/device.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "measure/calibrate.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Ranks are threads of this machine. Kernels are timed inside training steps of small\n"
    "calibration models, with one thread, with all cores, and with two ranks at once;\n"
    "collectives by size, with 2, 3 and 4 ranks. Keep the machine idle meanwhile: it takes\n"
    "about a minute. With --device cuda the kernels of a GPU are timed in bf16, for a cluster\n"
    "of one rank.\n"
    "Examples:\n"
    "  tessera bench calibrate --out this-machine.toml\n"
    "  tessera bench calibrate --device cuda --out gpu.toml\n"
    "  tessera simulate --cluster this-machine.toml --model gpt2-124m --batch 4 --seq 256";

struct BenchCalibrate {
  std::string out = "this-machine.toml", name, device = "cpu";
  int threads = 0;
  bool quick = false, json = false;
};

void run(const BenchCalibrate& command) {
  const std::filesystem::path out(command.out);
  Config config;
  config.train.threads = command.threads;
  const CalibrateOptions options{
      .name = command.name.empty() ? out.stem().string() : command.name,
      .cores = resolve_threads(config),
      .quick = command.quick,
      .progress = [](std::string_view text) { fmt::print(stderr, "{}\n", text); }};
  const bool gpu = command.device == name(DeviceKind::Cuda);
  const Cluster cluster = gpu ? calibrate_gpu(options) : calibrate(options);
  write_file_atomically(out, to_toml(cluster));
  size_t points = 0;
  for (const EfficiencyTable& table : cluster.efficiencies) points += table.points.size();
  const ClusterDevice& device = cluster.device;
  const double peak = device.peak(gpu ? Arithmetic::Bf16 : Arithmetic::Fp32);
  if (command.json)
    print_json({{"file", out.string()},
                {"device", device.name},
                {"cores", device.cores},
                {"peak_flops_per_second", peak},
                {"memory_bytes_per_second", device.memory_bandwidth.value},
                {"launch_seconds", device.launch_seconds.value},
                {"kernel_points", points},
                {"collective_tables", cluster.collectives.size()}});
  else
    fmt::print(
        "{}\n{:.1f} GFLOP/s{}, {:.1f} GB/s, {:.2f} us between kernels\n{} sizes of kernels, {} "
        "tables "
        "of collectives in {}\n",
        device.name, peak / 1e9, gpu ? "" : " per core", device.memory_bandwidth.value / 1e9,
        device.launch_seconds.value * 1e6, points, cluster.collectives.size(), out.string());
}

}  // namespace

void add_bench_calibrate(Command bench) {
  auto command = std::make_shared<BenchCalibrate>();
  const Command calibrate =
      bench.add_subcommand("calibrate", "measure this machine into a cluster file");
  calibrate.footer(kFooter);
  calibrate.add_option("--out", command->out, "the file to write").type_name("FILE").show_default();
  calibrate.add_option("--name", command->name,
                       "name of the cluster; default: the name of the file");
  calibrate.add_option("--device", command->device, "what to measure")
      .choices({"cpu", "cuda"})
      .show_default();
  calibrate.add_option("--threads", command->threads, "cores that the ranks share; 0: all")
      .not_negative();
  calibrate.add_flag("--quick", command->quick,
                     "small sizes only: takes seconds, for a first impression");
  add_json_flag(calibrate, command->json);
  calibrate.on_run([command] { run(*command); });
}

}  // namespace tessera
