// SPDX-License-Identifier: Apache-2.0
// tessera export: a checkpoint becomes a folder that transformers loads; adapters become one of
// PEFT, or are merged into the weights first.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "files/json.h"
#include "huggingface/export_folder.h"
#include "huggingface/peft_folder.h"
#include "huggingface/serving_files.h"
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
    "vLLM and llama.cpp read the folder too: docs/serving.md.\n"
    "In Python: AutoModelForCausalLM.from_pretrained(\"model\")";

struct ExportCommand {
  std::string from, to, dtype, shard_size = "5GB", base, base_name, chat_template;
  bool averaged = false, merge = false, json = false;
};

struct Exported {
  ExportSummary summary;
  std::vector<std::string> written;  // files beside the weights
};

// Where a checkpoint has adapters, and they are not to be merged.
Exported export_adapters(const ExportCommand& command, const StateSource& stored,
                         const TokenizerFiles& beside) {
  const PeftSummary summary = export_peft_folder(stored, command.to,
                                                 {.dtype = dtype_from_name(command.dtype),
                                                  .averaged = command.averaged,
                                                  .base_name = command.base_name});
  return {.summary = {.files = 1, .tensors = summary.tensors, .bytes = summary.bytes},
          .written = beside.copy_to(command.to)};
}

Exported export_model(const ExportCommand& command, const StateSource& stored,
                      const ModelConfig& model, const TokenizerFiles& beside) {
  const ServingFiles serving(tokenizer_folder(stored.path()), tokenizer_of(stored, ""), model,
                             command.chat_template);
  const ExportSummary summary = export_folder(
      stored, model, command.to,
      {.dtype = dtype_from_name(command.dtype),
       .averaged = command.averaged && !command.merge,
       .ends = serving.ends(),
       .shard_bytes = parse_byte_size(command.shard_size, "--shard-size " + command.shard_size)});
  std::vector<std::string> written = beside.copy_to(command.to);
  for (const std::string& name : serving.write_to(command.to))
    if (std::ranges::find(written, name) == written.end()) written.push_back(name);
  return {.summary = summary, .written = written};
}

Exported export_stored(const ExportCommand& command, const Checkpoint& checkpoint) {
  // Before anything is written.
  const TokenizerFiles beside(tokenizer_folder(checkpoint.path()));
  const ModelConfig model = resolve_model(config_of(checkpoint));
  if (model.lora.is_on() && !command.merge) return export_adapters(command, checkpoint, beside);
  if (!command.merge) return export_model(command, checkpoint, model, beside);
  const auto stored = with_base(checkpoint.path(), command.base);
  const MergedModel merged(*stored, command.averaged);
  return export_model(command, merged, merged.model(), beside);
}

void run(const ExportCommand& command) {
  require_free_folder(command.to, /*overwrite=*/false);
  const Checkpoint checkpoint = find_checkpoint(command.from);
  const auto [summary, written] = export_stored(command, checkpoint);
  if (command.json) {
    const Json json{{"checkpoint", checkpoint.path().string()},
                    {"out", command.to},
                    {"bytes", summary.bytes},
                    {"tensors", summary.tensors},
                    {"files", summary.files},
                    {"copied", written}};
    print_json(json);
    return;
  }
  fmt::print("{}: {} in {} tensors and {} file{}{}\n", command.to, short_bytes(summary.bytes),
             summary.tensors, summary.files, summary.files == 1 ? "" : "s",
             written.empty() ? "" : fmt::format(", with {}", fmt::join(written, ", ")));
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
  subcommand
      .add_option("--template", command->chat_template,
                  "chat template of the folder: plain, marked or a file of Jinja; default: "
                  "the one that the run has, if any")
      .type_name("FILE");
  add_json_flag(subcommand, command->json);
  subcommand.on_run([command] { run(*command); });
}

}  // namespace tessera
