// SPDX-License-Identifier: Apache-2.0
// The command line. Exit codes: 0 done, 1 a check did not hold, 2 the user's mistake, 70 our own
// bug.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "core/error.h"

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera train                              train the tiny demo model on built-in stories\n"
    "  tessera train --model gpt2-124m --set train.batch=4 --steps 20 --out out/gpt2\n"
    "  tessera generate out --prompt \"Once upon a time\"\n"
    "  tessera compile --model llama3-8b          where the bytes would go, without running\n"
    "  tessera bench step --model gpt2-124m --batch 4 --seq 256\n"
    "Every subcommand has --help.";

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
  tessera::add_generate_command(app);
  tessera::add_compile_command(app);
  tessera::add_bench_command(app);
  tessera::add_docs_command(app);
  try {
    app.parse(argc, argv);  // runs the subcommand's callback
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(tessera::UserError(error.what())
                    .help("see tessera --help, or tessera SUBCOMMAND --help")
                    .report(),
                2);
  } catch (const tessera::UserError& error) {
    return fail(error.report(), 2);
  } catch (const std::exception& error) {
    return fail(fmt::format("internal error: {}\n", error.what()), 70);
  }
}
