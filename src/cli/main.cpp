// SPDX-License-Identifier: Apache-2.0
// The command line. Exit codes: 0 done, 1 a check did not hold, 2 the user's mistake, 3 a rank died
// or is late, 70 our own bug.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "comm/local/run_ranks.h"
#include "comm/peer_error.h"
#include "core/error.h"
#include "core/nearest_name.h"

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera train                              train the tiny demo model on built-in stories\n"
    "  tessera train --model gpt2-124m --set train.batch=4 --steps 20 --out out/gpt2\n"
    "  tessera generate out --prompt \"Once upon a time\"\n"
    "  tessera compile --model llama3-8b          where the bytes would go, without running\n"
    "  tessera verify --mesh dp=2,tp=2            prove that four ranks compute what one would\n"
    "  tessera simulate --cluster dgx-h100 --model llama3-8b --mesh dp=8 --batch 8\n"
    "  tessera plan --model llama3-8b --ranks 64 --batch 512 --seq 8192 --cluster llama3-h100\n"
    "  tessera report out                         what the time of a run went to, what to try\n"
    "  tessera schedule --kind 1f1b,zb_h1         pipelines drawn, with their bubbles\n"
    "  tessera bench step --model gpt2-124m --batch 4 --seq 256\n"
    "Every subcommand has --help.";

// CLI11 knows only that a subcommand is missing; this one was misspelt.
void check_subcommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::string nearest = tessera::nearest_name(argv[1], names);
  throw tessera::user_error("there is no subcommand {}{}", argv[1],
                            nearest.empty() ? "" : ": did you mean " + nearest + "?")
      .help("see tessera --help");
}

std::string lower_first(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

int fail(const std::string& text, int code) {
  std::fputs(text.c_str(), stderr);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("tessera trains large transformers: one program for any machine", "tessera");
  app.require_subcommand(1);
  app.footer(kFooter);
  app.set_version_flag("--version", TESSERA_VERSION);
  tessera::add_train_command(app);
  tessera::add_launch_command(app);
  tessera::add_generate_command(app);
  tessera::add_evaluate_command(app);
  tessera::add_checkpoint_command(app);
  tessera::add_import_command(app);
  tessera::add_export_command(app);
  tessera::add_compile_command(app);
  tessera::add_verify_command(app);
  tessera::add_simulate_command(app);
  tessera::add_plan_command(app);
  tessera::add_report_command(app);
  tessera::add_bench_command(app);
  tessera::add_collectives_command(app);
  tessera::add_schedule_command(app);
  tessera::add_tokenize_command(app);
  tessera::add_tokenizer_command(app);
  tessera::add_topology_command(app);
  tessera::add_docs_command(app);
  try {
    check_subcommand(app, argc, argv);
    app.parse(argc, argv);  // runs the subcommand's callback
    return 0;
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();  // a check that did not hold, already reported
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(tessera::UserError(lower_first(error.what()))
                    .help("see tessera --help, or tessera SUBCOMMAND --help")
                    .report(),
                2);
  } catch (const tessera::UserError& error) {
    return fail(error.report(), 2);
  } catch (const tessera::PeerError& error) {
    return fail(fmt::format("error: {}\n", error.what()), tessera::kPeerExitStatus);
  } catch (const std::exception& error) {
    return fail(fmt::format("internal error: {}\n", error.what()), 70);
  }
}
