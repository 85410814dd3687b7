// SPDX-License-Identifier: Apache-2.0
// tessera export: a checkpoint becomes a folder that transformers loads.
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "files/json.h"
#include "huggingface/export_folder.h"
#include "huggingface/tokenizer_files.h"
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
    "In Python: AutoModelForCausalLM.from_pretrained(\"model\")";

struct ExportCommand {
  std::string from, to, dtype, shard_size = "5GB";
  bool averaged = false, json = false;
};

void run(const ExportCommand& command) {
  require_free_folder(command.to, /*overwrite=*/false);
  const Checkpoint checkpoint = find_checkpoint(command.from);
  const TokenizerFiles beside(tokenizer_folder(checkpoint.path()));  // before anything is written
  const ExportSummary summary = export_folder(
      checkpoint, resolve_model(config_of(checkpoint)), command.to,
      {.dtype = dtype_from_name(command.dtype),
       .averaged = command.averaged,
       .shard_bytes = parse_byte_size(command.shard_size, "--shard-size " + command.shard_size)});
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
  add_json_flag(subcommand, command->json);
  subcommand.on_run([command] { run(*command); });
}

}  // namespace tessera
