// SPDX-License-Identifier: Apache-2.0
// The subcommands: each adds itself, with its options, examples and callback, to the application.
#pragma once

namespace CLI {
class App;
}

namespace tessera {

void add_train_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_checkpoint_command(CLI::App& app);
void add_evaluate_command(CLI::App& app);
void add_import_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_compile_command(CLI::App& app);
void add_verify_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_plan_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_bench_command(CLI::App& app);
// Subcommands of bench.
void add_bench_calibrate(CLI::App& bench);
void add_bench_collectives(CLI::App& bench);
void add_bench_kernels(CLI::App& bench);
void add_bench_matmul(CLI::App& bench);
void add_bench_scaling(CLI::App& bench);
void add_bench_tokenizer(CLI::App& bench);
void add_collectives_command(CLI::App& app);
void add_schedule_command(CLI::App& app);
void add_tokenize_command(CLI::App& app);
void add_tokenizer_command(CLI::App& app);
void add_tokenizer_train(CLI::App& tokenizer);
void add_topology_command(CLI::App& app);
void add_launch_command(CLI::App& app);
void add_docs_command(CLI::App& app);

}  // namespace tessera
