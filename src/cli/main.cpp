// SPDX-License-Identifier: Apache-2.0
// The command line. Exit codes: 0 success, 1 a check failed, 2 a user error, 3 a rank died, is late
// or could not read its disk, 7 a training was stopped and has saved, 70 a bug. Those of a
// supervised run: docs/failures.md.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/mpi_twin.h"
#include "comm/failure/peer_error.h"
#include "comm/local/run_ranks.h"
#include "core/error.h"
#include "core/utf8.h"
#include "data/token_text.h"
#include "files/mapped_file.h"
#include "files/storage_error.h"
#include "system/stop_signal.h"

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera train                              train the tiny demo model on built-in stories\n"
    "  tessera train --model gpt2-124m --batch 4 --steps 20 --out out/gpt2\n"
    "  tessera new                                answer a few questions, get a config\n"
    "  tessera generate out --prompt \"Once upon a time\"\n"
    "  tessera chat out                           talk with a model\n"
    "  tessera compile --model llama3-8b          the memory plan, without running\n"
    "  tessera verify --mesh dp=2,tp=2            check that four ranks compute what one would\n"
    "  tessera simulate --cluster dgx-h100 --model llama3-8b --mesh dp=8 --batch 8\n"
    "  tessera plan --model llama3-8b --ranks 64 --batch 512 --seq 8192 --cluster llama3-h100\n"
    "  tessera report out                         where the time of a run went, and what to try\n"
    "  tessera schedule --kind 1f1b,zb_h1         draw pipelines, with their bubbles\n"
    "  tessera bench step --model gpt2-124m --batch 4 --seq 256\n"
    "Every subcommand has --help.";

int fail(const std::string& text, int code) {
  std::fputs(text.c_str(), stderr);
  return code;
}

// Output may fail only now, for example on a full disk.
void finish_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw tessera::user_error("cannot write the output: {}", tessera::errno_text(errno))
        .help("the output is incomplete; free some space or write it elsewhere");
}

// Words end up in configs, manifests and records, which are JSON and TOML: with other bytes the
// first checkpoint could not be written.
std::vector<std::string> utf8_words(std::vector<std::string> words) {
  for (const std::string& word : words)
    if (tessera::valid_prefix(word) != word.size())
      throw tessera::user_error("not UTF-8 text: {}", tessera::printable(word))
          .at("the command line")
          .help("rename the file or folder, or use a link with a UTF-8 name");
  return words;
}

void add_commands(tessera::Command app) {
  tessera::add_new_command(app);
  tessera::add_train_command(app);
  tessera::add_launch_command(app);
  tessera::add_islands_command(app);
  tessera::add_jobs_command(app);
  tessera::add_generate_command(app);
  tessera::add_chat_command(app);
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
  tessera::add_clusters_command(app);
  tessera::add_collectives_command(app);
  tessera::add_schedule_command(app);
  tessera::add_stories_command(app);
  tessera::add_tokenize_command(app);
  tessera::add_tokenizer_command(app);
  tessera::add_topology_command(app);
  tessera::add_studio_command(app);
  tessera::add_docs_command(app);
}

}  // namespace

int main(int argc, char** argv) {
  tessera::become_mpi_twin(argv);
  tessera::StopSignal::hold_until_handled();
  tessera::explain_mapping_faults(tessera::kPeerExitStatus);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at the limit of ulimit -f is an error of that write
  tessera::CommandLine line(
      "tessera",
      "tessera trains large transformers: one program for CPUs, GPUs, MPI jobs and a simulator");
  const tessera::Command app = line.root();
  app.require_subcommand();
  app.footer(kFooter);
  app.version_flag(tessera::version());
  add_commands(app);
  try {
    line.run(utf8_words({argv + 1, argv + argc}));
    finish_output();
    return 0;
  } catch (const tessera::ExitStatus& end) {
    return end.status();
  } catch (const tessera::StorageError& error) {
    return fail(error.report(), tessera::kPeerExitStatus);
  } catch (const tessera::UserError& error) {
    return fail(error.report(), tessera::kUserExitStatus);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(tessera::user_error("cannot reach {}: {}", error.path1().string(),
                                    tessera::errno_text(error.code().value()))
                    .help("check the path and its permissions")
                    .report(),
                tessera::is_outage(error.code().value()) ? tessera::kPeerExitStatus
                                                         : tessera::kUserExitStatus);
  } catch (const tessera::PeerError& error) {
    return fail(fmt::format("error: {}\n", error.what()), tessera::kPeerExitStatus);
  } catch (const std::exception& error) {
    return fail(fmt::format("internal error: {}\n", error.what()), 70);
  }
}
