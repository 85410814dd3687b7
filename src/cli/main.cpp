// SPDX-License-Identifier: Apache-2.0
// The command line. Exit codes: 0 done, 1 a check did not hold, 2 the user's mistake, 3 a rank died
// or is late, 70 our own bug.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "comm/local/run_ranks.h"
#include "comm/peer_error.h"
#include "core/error.h"
#include "core/nearest_name.h"
#include "files/errno_text.h"

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera train                              train the tiny demo model on built-in stories\n"
    "  tessera train --model gpt2-124m --batch 4 --steps 20 --out out/gpt2\n"
    "  tessera generate out --prompt \"Once upon a time\"\n"
    "  tessera compile --model llama3-8b          where the bytes would go, without running\n"
    "  tessera verify --mesh dp=2,tp=2            prove that four ranks compute what one would\n"
    "  tessera simulate --cluster dgx-h100 --model llama3-8b --mesh dp=8 --batch 8\n"
    "  tessera plan --model llama3-8b --ranks 64 --batch 512 --seq 8192 --cluster llama3-h100\n"
    "  tessera report out                         what the time of a run went to, what to try\n"
    "  tessera schedule --kind 1f1b,zb_h1         pipelines drawn, with their bubbles\n"
    "  tessera bench step --model gpt2-124m --batch 4 --seq 256\n"
    "Every subcommand has --help.";

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

struct Command {
  const CLI::App* app;
  std::string words;  // "tessera bench step"
};

// What was asked for. CLI11 knows only that a subcommand is missing; this says which one was
// misspelt.
Command command_of(const CLI::App& app, int argc, char** argv) {
  Command command{&app, app.get_name()};
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::vector<std::string> names = subcommands_of(*command.app);
    if (names.empty()) break;
    if (std::find(names.begin(), names.end(), argv[i]) == names.end()) {
      const std::string nearest = tessera::nearest_name(argv[i], names);
      throw tessera::user_error("there is no subcommand {}{}", argv[i],
                                nearest.empty() ? "" : ": did you mean " + nearest + "?")
          .help("see " + command.words + " --help");
    }
    command.app = command.app->get_subcommand(argv[i]);
    command.words += fmt::format(" {}", argv[i]);
  }
  return command;
}

std::string lower_first(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// What CLI11 says, and the flag that is nearest to one that the command does not have.
std::string parse_problem(const CLI::ParseError& error, const CLI::App& command) {
  std::string text = lower_first(error.what());
  const size_t flag = text.find("--");
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || flag == std::string::npos)
    return text;
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::string given = text.substr(flag, text.find_first_of(" =", flag) - flag);
  const std::string nearest = tessera::nearest_name(given, names);
  return nearest.empty() ? text : fmt::format("{}: did you mean {}?", text, nearest);
}

int fail(const std::string& text, int code) {
  std::fputs(text.c_str(), stderr);
  return code;
}

// What was printed may be lost only now: on a full disk, say.
void finish_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw tessera::user_error("cannot write the output: {}", tessera::errno_text(errno))
        .help("what was printed is not all there; free some space or print it elsewhere");
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
  Command command{&app, app.get_name()};
  try {
    command = command_of(app, argc, argv);
    app.parse(argc, argv);  // runs the subcommand's callback
    finish_output();
    return 0;
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();  // a check that did not hold, already reported
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(tessera::UserError(parse_problem(error, *command.app))
                    .help("see " + command.words + " --help")
                    .report(),
                2);
  } catch (const tessera::UserError& error) {
    return fail(error.report(), tessera::kUserExitStatus);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(tessera::user_error("cannot reach {}: {}", error.path1().string(),
                                    tessera::errno_text(error.code().value()))
                    .help("check the path and its rights")
                    .report(),
                2);
  } catch (const tessera::PeerError& error) {
    return fail(fmt::format("error: {}\n", error.what()), tessera::kPeerExitStatus);
  } catch (const std::exception& error) {
    return fail(fmt::format("internal error: {}\n", error.what()), 70);
  }
}
