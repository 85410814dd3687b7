// SPDX-License-Identifier: Apache-2.0
// tessera export: a checkpoint becomes a folder that transformers loads; adapters become one of
// PEFT, or are merged into the weights first.
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "files/json.h"
#include "huggingface/export_folder.h"
#include "huggingface/peft_folder.h"
#include "huggingface/tokenizer_files.h"
#include "inference/merged_model.h"
#include "inference/stored_model.h"
#include "record/run_folder.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "For models like GPT-2, Llama 3 and Qwen 3. Weights keep their exact values unless --dtype\n"
    "asks for another type.\n"
    "Examples:\n"
    "  tessera export out --out model\n"
    "  tessera export out/checkpoints/step-00000300 --out model --dtype bf16 --shard-size 2GB\n"
    "  tessera export lora-run --out adapter            adapters alone, as PEFT has them\n"
    "  tessera export lora-run --merge --out model      one model of base and adapters\n"
    "In Python: AutoModelForCausalLM.from_pretrained(\"model\")";

struct ExportCommand {
  std::string from, to, dtype, shard_size = "5GB", base, base_name;
  bool averaged = false, merge = false, json = false;
};

// Where a checkpoint has adapters, and they are not to be merged.
ExportSummary export_adapters(const ExportCommand& command, const StateSource& stored) {
  const PeftSummary summary = export_peft_folder(stored, command.to,
                                                 {.dtype = dtype_from_name(command.dtype),
                                                  .averaged = command.averaged,
                                                  .base_name = command.base_name});
  return {.files = 1, .tensors = summary.tensors, .bytes = summary.bytes};
}

ExportSummary export_model(const ExportCommand& command, const StateSource& stored,
                           const ModelConfig& model) {
  return export_folder(
      stored, model, command.to,
      {.dtype = dtype_from_name(command.dtype),
       .averaged = command.averaged && !command.merge,
       .shard_bytes = parse_byte_size(command.shard_size, "--shard-size " + command.shard_size)});
}

ExportSummary export_stored(const ExportCommand& command, const Checkpoint& checkpoint) {
  const ModelConfig model = resolve_model(config_of(checkpoint));
  if (model.lora.is_on() && !command.merge) return export_adapters(command, checkpoint);
  if (!command.merge) return export_model(command, checkpoint, model);
  const auto stored = with_base(checkpoint.path(), command.base);
  const MergedModel merged(*stored, command.averaged);
  return export_model(command, merged, merged.model());
}

void run(const ExportCommand& command) {
  require_free_folder(command.to, /*overwrite=*/false);
  const Checkpoint checkpoint = find_checkpoint(command.from);
  const TokenizerFiles beside(tokenizer_folder(checkpoint.path()));  // before anything is written
  const ExportSummary summary = export_stored(command, checkpoint);
  const auto copied = beside.copy_to(command.to);
  if (command.json) {
    const Json json{{"checkpoint", checkpoint.path().string()},
                    {"out", command.to},
                    {"bytes", summary.bytes},
                    {"tensors", summary.tensors},
                    {"files", summary.files},
                    {"copied", copied}};
    print_json(json);
    return;
  }
  fmt::print("{}: {} in {} tensors and {} file{}{}\n", command.to, short_bytes(summary.bytes),
             summary.tensors, summary.files, summary.files == 1 ? "" : "s",
             copied.empty() ? "" : fmt::format(", with {}", fmt::join(copied, ", ")));
}

}  // namespace

void add_export_command(Command app) {
  auto command = std::make_shared<ExportCommand>();
  const Command subcommand =
      app.add_subcommand("export", "write a checkpoint as a Hugging Face folder");
  subcommand.footer(kFooter);
  subcommand.add_option("checkpoint", command->from, "a checkpoint, or the output folder of a run")
      .required();
  subcommand.add_option("--out", command->to, "the new folder").required();
  subcommand
      .add_option("--dtype", command->dtype, "dtype of the weights; default: as they are stored")
      .choices({"fp32", "bf16"});
  subcommand.add_option("--shard-size", command->shard_size, "maximum size of a file");
  subcommand.add_flag("--averaged", command->averaged, "use the moving average of the weights");
  subcommand.add_flag("--merge", command->merge,
                      "of a run with lora.rank: one model of base and adapters");
  subcommand.add_option("--base", command->base,
                        "with --merge: where the base is now, if not where the run found it");
  subcommand.add_option("--base-name", command->base_name,
                        "of adapters: the name of their base, for PEFT; default: its folder");
  add_json_flag(subcommand, command->json);
  subcommand.on_run([command] { run(*command); });
}

}  // namespace tessera
