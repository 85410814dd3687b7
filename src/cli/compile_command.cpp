// SPDX-License-Identifier: Apache-2.0
// tessera compile: compiles a model without running it and shows passes, IR, Program and memory
// plan.
#include <filesystem>
#include <memory>

#include "checkpoint/snapshot.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/quantities.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/json.h"
#include "ir/printer.h"
#include "measure/largest_model.h"
#include "models/model_size.h"
#include "program/collective_table.h"
#include "program/pool_room.h"
#include "studio/compiled_step.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera compile --model gpt2-124m --batch 4 --seq 256\n"
    "  tessera compile --model tiny --dump-after build_backward        the IR after one pass\n"
    "  tessera compile --model tiny --dump-after all --dump-dir ir/    one file per pass\n"
    "  tessera compile --model tiny --program                          instructions and scripts\n"
    "  tessera compile --model llama3-8b --memory 80GB                 the largest llama that "
    "fits\n"
    "  tessera compile --model llama3-8b --mesh fsdp=8 --memory 80GB   on each of eight ranks";

struct CompileCommand {
  RunOptions run;
  std::string dump_after, dump_dir, stop_after, memory, host_memory;
  std::vector<std::string> disabled;
  bool program = false, print_pipeline = false;
};

PipelineOptions pipeline_options(const CompileCommand& command) {
  PipelineOptions options{
      .disabled = command.disabled, .stop_after = command.stop_after, .after_pass = {}};
  options.after_pass = [&command](int position, const Pass& pass, const Module& module) {
    if (command.dump_after.empty() ||
        (command.dump_after != "all" && command.dump_after != pass.name))
      return;
    if (command.dump_dir.empty()) {
      if (!command.run.json) fmt::print("# after {}\n{}\n", pass.name, print(module));
      return;
    }
    make_folder(command.dump_dir, "choose another with --dump-dir");
    write_file_atomically(
        std::filesystem::path(command.dump_dir) / fmt::format("{:02}_{}.ir", position, pass.name),
        print(module));
  };
  return options;
}

void check_dump_name(const CompileCommand& command, const PassPipeline& pipeline) {
  if (command.dump_after.empty() || command.dump_after == "all") return;
  for (const Pass& pass : pipeline.passes())
    if (pass.name == command.dump_after) return;
  throw user_error("--dump-after {}: there is no such pass", command.dump_after)
      .help("see tessera compile --print-pipeline");
}

void print_collectives(const Program& program) {
  const auto rows = collective_table(program, program.script("train_step"));
  if (rows.empty()) return;
  fmt::print("\ncollectives of a step, on each of {} ranks ({}):\n", program.mesh.num_ranks(),
             to_string(program.mesh));
  fmt::print("  {:<11} {:<15} {:<10} {:>6} {:>10}  {}\n", "routine", "op", "axes", "calls",
             "bytes in", "hidden behind kernels");
  for (const CollectiveRow& row : rows)
    fmt::print("  {:<11} {:<15} {:<10} {:>6} {:>10}  {}\n", name(row.routine), row.op, row.axes,
               row.calls, short_bytes(row.bytes), row.hidden);
}

void print_stages(const Compiled& compiled) {
  fmt::print("\nschedule {}: {} stages, {} microbatches\n", compiled.schedule.kind,
             compiled.schedule.num_stages(), compiled.schedule.microbatches);
  for (size_t place = 0; place < compiled.programs.size(); ++place)
    fmt::print("  pp={:<3} {:>10}  stage {}\n", place,
               short_bytes(compiled.programs[place].peak_bytes()),
               blocks_text(compiled.programs[place]));
  const std::string gathers = gathers_text(largest_program(compiled.programs));
  if (!gathers.empty()) fmt::print("  {}\n", gathers);
}

// Wide enough for the longest name of a pass.
constexpr int kPassWidth = 20;

void print_bytes(std::string_view what, int64_t bytes, int64_t parameters) {
  fmt::print("  {:<12} {:>10}  {:6.2f} bytes per parameter\n", what, short_bytes(bytes),
             static_cast<double>(bytes) / static_cast<double>(parameters));
}

void print_report(const Compiled& compiled, int64_t parameters, int64_t snapshot) {
  fmt::print("{:<{}} {:>9}  {}\n", "pass", kPassWidth, "ms", "what it did");
  for (const PassReport& pass : compiled.passes) {
    std::string counts;
    for (const auto& [what, count] : pass.counts)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", what, count);
    fmt::print("{:<{}} {:>9.2f}  {}\n", pass.name, kPassWidth, pass.seconds * 1e3, counts);
  }
  if (compiled.programs.empty()) return;
  if (compiled.programs.size() > 1) print_stages(compiled);
  const Program& program = largest_program(compiled.programs);
  fmt::print("\n{} parameters; planned bytes{} at most:\n", parameters,
             program.mesh.num_ranks() > 1 ? " of each rank" : "");
  for (int kind = 0; kind < kNumBufferKinds; ++kind)
    print_bytes(name(static_cast<BufferKind>(kind)),
                program.bytes_by_kind[static_cast<size_t>(kind)], parameters);
  if (snapshot > 0) print_bytes("snapshot", snapshot, parameters);
  print_bytes("all", program.peak_bytes() + snapshot, parameters);
  if (program.host_bytes() > 0) print_bytes("on the host", program.host_bytes(), parameters);
  if (const PoolRoom room = pool_room_of(compiled.programs); room.rows > 0)
    fmt::print("{}\n", to_string(room));
  print_collectives(program);
}

// Of a rank: 0 where it was not asked for.
struct AskedMemory {
  int64_t device = 0, host = 0;
};

AskedMemory asked_memory(const CompileCommand& command) {
  const auto bytes = [](const std::string& text, std::string_view flag) {
    return text.empty() ? 0 : parse_byte_size(text, fmt::format("{} {}", flag, text));
  };
  return {.device = bytes(command.memory, "--memory"),
          .host = bytes(command.host_memory, "--host-memory")};
}

std::string bytes_of(const FamilyMember& member) {
  if (!member.refusal.empty()) return "";
  const std::string device = short_bytes(member.peak_bytes);
  return member.host_bytes == 0 ? device
                                : fmt::format("{} + {}", device, short_bytes(member.host_bytes));
}

void print_fits(const std::vector<FamilyMember>& members, const Mesh& mesh, AskedMemory memory) {
  const std::string ranks = mesh.num_ranks() == 1 ? std::string()
                                                  : fmt::format(" of each of {} ranks ({})",
                                                                mesh.num_ranks(), to_string(mesh));
  const std::string host =
      memory.host > 0 ? fmt::format(" and {} of the host", short_bytes(memory.host)) : "";
  fmt::print("\nin {}{}{}, with this batch, sequence length and precision:\n",
             short_bytes(memory.device), host, ranks);
  size_t width = 10;
  for (const FamilyMember& member : members) width = std::max(width, bytes_of(member).size());
  const FamilyMember* largest = nullptr;
  for (const FamilyMember& member : members) {
    const bool fits = member.fits(memory.device, memory.host);
    fmt::print("  {:<15} {:>{}}  {}\n", member.preset, bytes_of(member), width,
               fits                     ? "fits"
               : member.refusal.empty() ? "does not fit"
                                        : member.refusal);
    if (fits) largest = &member;
  }
  fmt::print("the largest that fits: {}\n", largest ? largest->preset : "none");
}

void add_family(Json& json, const std::vector<FamilyMember>& members, AskedMemory memory) {
  for (const FamilyMember& member : members) {
    const bool fits = member.fits(memory.device, memory.host);
    if (fits) json["largest_that_fits"] = member.preset;
    if (member.refusal.empty())
      json["family"].push_back(Json{{"preset", member.preset},
                                    {"peak_bytes", member.peak_bytes},
                                    {"host_bytes", member.host_bytes},
                                    {"fits", fits}});
  }
}

void print_pipeline(const PassPipeline& pipeline, bool as_json) {
  if (as_json) return print_json({{"passes", pipeline_json(pipeline)}});
  for (const Pass& pass : pipeline.passes())
    fmt::print("{:<{}} {}\n", pass.name, kPassWidth, pass.summary);
}

void run(const CompileCommand& command) {
  const Config config = command.run.load_with_notes();
  const RunSpec spec = resolve(config);
  const PassPipeline pipeline = training_pipeline(spec.optimizer, spec.plan, {});
  if (command.print_pipeline) {
    print_pipeline(pipeline, command.run.json);
    return;
  }
  check_dump_name(command, pipeline);
  const AskedMemory memory = asked_memory(command);
  const Compiled compiled = compile_beside_snapshot(spec, {.pipeline = pipeline_options(command)});
  const int64_t snapshot = snapshot_bytes_of_rank(spec, compiled.programs);
  const int64_t parameters = parameter_count(spec.model);
  if (command.run.json) {
    Json json = to_json(compiled, parameters, snapshot);
    if (memory.device > 0) add_family(json, family_members(config), memory);
    print_json(json);
    return;
  }
  if (command.program)
    for (const Program& program : compiled.programs) fmt::print("{}\n", print(program));
  print_report(compiled, parameters, snapshot);
  if (memory.device > 0) print_fits(family_members(config), spec.plan.mesh, memory);
}

}  // namespace

void add_compile_command(Command app) {
  auto command = std::make_shared<CompileCommand>();
  const Command compile =
      app.add_subcommand("compile", "compile a model: show the passes, the IR and the memory plan");
  compile.footer(kFooter);
  add_run_options(compile, command->run);
  add_step_forms(compile, command->run);
  compile.add_option("--dump-after", command->dump_after,
                     "print the IR after this pass, or after `all`");
  compile.add_option("--dump-dir", command->dump_dir,
                     "write the dumps into this folder, as 01_build_backward.ir and so on");
  compile.add_option("--stop-after", command->stop_after, "stop after this pass");
  compile.add_option("--disable-pass", command->disabled, "skip this pass").take_all();
  compile.add_flag("--print-pipeline", command->print_pipeline, "list the passes and stop");
  compile.add_flag("--program", command->program, "print the Program");
  const Option memory = compile.add_option(
      "--memory", command->memory,
      "find the largest model of the family that fits into this memory per rank, such as 24GB");
  compile
      .add_option("--host-memory", command->host_memory,
                  "and into this memory of the host per rank, for what plan.offload keeps there")
      .needs(memory);
  compile.on_run([command] { run(*command); });
}

}  // namespace tessera
