// SPDX-License-Identifier: Apache-2.0
// tessera verify: checks that a plan computes the same as one rank.
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "comm/mpi/mpi_process.h"
#include "config/island_config.h"
#include "exec/device.h"
#include "files/json.h"
#include "studio/verify_json.h"
#include "verify/verify_islands.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera verify --mesh dp=2,tp=2                           the tiny model on four ranks\n"
    "  tessera verify --model llama3-8b --shrink --mesh dp=2,fsdp=4,tp=8\n"
    "  tessera verify --mesh dp=4 --show-ranks                   losses differ, parameters agree\n"
    "  tessera verify --mesh cp=2 --precision fp32 --json\n"
    "  tessera verify --shrink --mesh island=2,dp=2 --set islands.fragments=2   against one rank "
    "that\n"
    "                                                            plays all islands in turn\n"
    "  tessera verify --model tiny-moe --mesh ep=2 --precision bf16 --routing forced\n"
    "Computed in fp64, unless --precision asks for fp32 or bf16.\n"
    "Exit code 1 if anything differs by more than rounding allows. \"undecided\" in place of "
    "\"NOT\n"
    "equal\": a router's scores were so close that rounding chose the expert.";

struct VerifyCommand {
  RunOptions run;
  int steps = 2;
  std::string routing = "chosen";
  bool shrink = false, show_ranks = false;
};

// Verifies the maths in fp64, where rounding hides no mistake. A config file's precision is for
// training; the command line can select another one here.
DType precision_to_prove(const VerifyCommand& command, const Config& config) {
  if (!command.run.names("train.precision")) return DType::Fp64;
  for (const DType precision : {DType::Fp64, DType::Fp32, DType::Bf16})
    if (config.train.precision == name(precision)) return precision;
  throw user_error("a plan is verified in fp64, fp32 or bf16, not in {}", config.train.precision)
      .at("--precision " + config.train.precision)
      .help("leave it out: fp64 verifies the plan for every precision");
}

void tell_precision(const VerifyCommand& command, const Config& config) {
  if (command.run.json || !command.run.file || command.run.names("train.precision") ||
      config.train.precision == "fp64")
    return;
  fmt::print(stderr,
             "note: verified in fp64, although train.precision = {} in {}; only --precision "
             "changes that\n",
             config.train.precision, *command.run.file);
}

void print_worst(std::string_view what, const WorstError& worst) {
  const std::string line =
      fmt::format("  {:<16} {:9.2e}  {:9.2e}  {}", what, worst.error, worst.allowed, worst.name);
  fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
}

void print_routes(const VerifyReport& report) {
  if (report.router.known())
    fmt::print("  {:<16} {:9.2e}             {}\n", "router margin", report.router.gap,
               report.router.place);
  if (const RouteErrors& routes = report.routes; routes.routes > 0)
    fmt::print("  {:<16} {:9}  {:>9}  {} routes, counted by layer and expert{}{}\n",
               "counts of routes", routes.off, report.tied() ? "any" : "0", routes.routes,
               routes.off > 0 ? ": differ in " : "", routes.place);
}

void print_report(const RunSpec& spec, const VerifyCommand& command, const VerifyReport& report) {
  fmt::print("{} ranks ({}) against one, {} steps in {}{}: {}\n", spec.plan.mesh.num_ranks(),
             to_string(spec.plan.mesh), command.steps, name(spec.precision),
             command.routing == "forced" ? ", routes forced" : "", verdict_of(report));
  fmt::print("  {:<16} {:>9}  {:>9}\n", "", "error", "allowed");
  print_worst("loss", report.loss);
  print_worst("gradient norm", report.grad_norm);
  print_worst("gradients", report.gradient);
  print_worst("parameters", report.parameter);
  print_worst("replicas", report.replica);
  print_routes(report);
  if (!spec.repeatable)
    fmt::print(
        "  train.repeatable = false: on a GPU these figures differ a little from run to run\n");
  for (const VerifiedRank& rank : report.ranks)
    fmt::print("  rank {:<3} own share of the loss {}  parameters {}\n", rank.rank,
               rank.loss ? fmt::format("{:.6f}", *rank.loss) : "none    ", rank.digest);
}

void print_islands(const RunSpec& spec, const IslandPlay& play, int64_t asked_every,
                   const VerifyIslandsReport& report) {
  fmt::print("{} islands ({} each) against one rank that plays all of them, {} steps in {}: {}\n",
             play.count,
             spec.plan.mesh.num_ranks() > 1 ? "mesh " + to_string(spec.plan.mesh) : "one rank",
             report.steps, name(spec.precision), report.equal() ? "equal" : "NOT equal");
  fmt::print("  {} exchanges, each fragment every {} steps{}\n", report.exchanges,
             play.islands.every,
             play.islands.every == asked_every ? "" : fmt::format(", not {}", asked_every));
  fmt::print("  {:<16} {:>9}  {:>9}\n", "", "error", "allowed");
  print_worst("loss", report.loss);
  print_worst("gradient norm", report.grad_norm);
  print_worst("gradients", report.gradient);
  print_worst("parameters", report.parameter);
  print_worst("combined", report.combined);
}

void run_islands(const VerifyCommand& command, const Config& config, const RunSpec& spec) {
  if (spec.precision != Precision(DType::Fp64) || !is_host(spec.device))
    throw user_error("islands are verified in fp64 on the CPU")
        .at("mesh.island")
        .help("leave out --precision and --device, or verify the mesh without island");
  if (command.routing == "forced" || command.show_ranks)
    throw user_error("islands are verified without --routing and --show-ranks")
        .at("mesh.island")
        .help("verify the mesh without island with them");
  const VerifyIslandsOptions options{.play = play_of(config, command.steps)};
  const VerifyIslandsReport report = verify_islands(spec, options);
  if (command.run.json)
    print_json(to_json(report));
  else
    print_islands(spec, options.play, config.islands.every, report);
  if (!report.equal()) throw ExitStatus(1);
}

void run(const VerifyCommand& command) {
  if (launched_by_mpi())
    throw user_error(
        "verify runs all ranks as threads of one process, but mpirun or srun started it")
        .help("start it without a launcher: tessera verify --mesh dp=2,tp=2");
  const Config config = command.run.load_with_notes();
  const RunSpec spec = spec_to_verify(config, precision_to_prove(command, config), command.shrink);
  tell_precision(command, config);
  require_device(spec.device);
  if (islands_of(config) > 0) return run_islands(command, config, spec);
  const VerifyReport report = verify_plan(spec, {.steps = command.steps,
                                                 .seed = static_cast<uint64_t>(config.train.seed),
                                                 .show_ranks = command.show_ranks,
                                                 .force_routes = command.routing == "forced"});
  if (command.run.json)
    print_json(to_json(report));
  else
    print_report(spec, command, report);
  if (!report.equal()) throw ExitStatus(1);
}

}  // namespace

void add_verify_command(Command app) {
  auto command = std::make_shared<VerifyCommand>();
  const Command verify =
      app.add_subcommand("verify", "check that a plan computes the same as one rank");
  verify.footer(kFooter);
  add_run_options(verify, command->run);
  add_step_forms(verify, command->run);
  add_short_form(verify, command->run, "--device", "run.device", "where to run, as for train");
  verify.add_option("--steps", command->steps, "steps to run").range(1, 1000);
  verify.add_flag(
      "--shrink", command->shrink,
      "use a small model of the same family, to which the plan applies in the same way");
  verify
      .add_option("--routing", command->routing,
                  "who sends tokens to experts: chosen, by their routers, or forced, by a hash of "
                  "layer, token and k, where rounding has no part")
      .choices({"chosen", "forced"});
  verify.add_flag("--show-ranks", command->show_ranks,
                  "show each rank's own loss and the digest of its parameters");
  verify.on_run([command] { run(*command); });
}

}  // namespace tessera
