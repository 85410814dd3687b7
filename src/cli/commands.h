// SPDX-License-Identifier: Apache-2.0
// The subcommands: each adds itself, with its options, examples and callback, to the application.
#pragma once

#include "cli/command_line.h"

namespace tessera {

void add_new_command(Command app);
void add_train_command(Command app);
void add_generate_command(Command app);
void add_chat_command(Command app);
void add_checkpoint_command(Command app);
void add_evaluate_command(Command app);
void add_import_command(Command app);
void add_export_command(Command app);
void add_compile_command(Command app);
void add_verify_command(Command app);
void add_simulate_command(Command app);
void add_plan_command(Command app);
void add_report_command(Command app);
void add_bench_command(Command app);
// Subcommands of bench.
void add_bench_calibrate(Command bench);
void add_bench_collectives(Command bench);
void add_bench_data(Command bench);
void add_bench_experts(Command bench);
void add_bench_generate(Command bench);
void add_bench_kernels(Command bench);
void add_bench_matmul(Command bench);
void add_bench_scaling(Command bench);
void add_bench_tokenizer(Command bench);
void add_clusters_command(Command app);
void add_collectives_command(Command app);
void add_schedule_command(Command app);
void add_stories_command(Command app);
void add_tokenize_command(Command app);
void add_tokenizer_command(Command app);
void add_tokenizer_train(Command tokenizer);
void add_topology_command(Command app);
void add_studio_command(Command app);
void add_launch_command(Command app);
void add_islands_command(Command app);
void add_jobs_command(Command app);
void add_docs_command(Command app);
// Subcommands of docs about the commands themselves.
void add_docs_man(Command docs, Command app);
void add_docs_completion(Command docs, Command app);
void add_docs_commands(Command docs, Command app);

// The version that `tessera --version` prints, with the commit it was built from.
const char* version();  // "0.2.0 (8f0a899, with changes)"; without a commit where git knows none
const char* release();  // "0.2.0"

}  // namespace tessera
