// SPDX-License-Identifier: Apache-2.0
// tessera import: a Hugging Face folder becomes a checkpoint.
#include <memory>

#include "checkpoint/convert.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "files/json.h"
#include "huggingface/huggingface_folder.h"
#include "huggingface/tokenizer_files.h"
#include "models/model_size.h"
#include "record/run_folder.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "FOLDER holds config.json and model.safetensors, or several of them with an index: GPT-2,\n"
    "Llama 3, Qwen 3, DeepSeek-V3. The weights keep their exact values; float16 becomes fp32. The "
    "files\n"
    "of the tokenizer are copied too.\n"
    "Examples:\n"
    "  tessera import llama-3.2-1b --out out/llama\n"
    "  tessera evaluate out/llama tokens.json\n"
    "  tessera train --init-from out/llama --set data.path=\"shards/*.bin\" --out out/more\n"
    "More: docs/import-export.md";

struct ImportCommand {
  std::string from, to;
  bool json = false;
};

void run(const ImportCommand& command) {
  const HuggingFaceFolder folder(command.from);
  const TokenizerFiles beside(folder.path());  // before anything is written
  if (to_one_file(command.to))
    require_free_file(command.to, /*overwrite=*/false);
  else
    require_free_folder(command.to, /*overwrite=*/false);
  const std::filesystem::path written = convert_checkpoint(folder, command.to, {});
  const auto copied = beside.copy_to(tokenizer_folder(written));
  const int64_t parameters = parameter_count(folder.model());
  if (command.json) {
    const Json json{{"out", written.string()},  {"family", name(folder.model().family)},
                    {"parameters", parameters}, {"tensors", folder.tensors().size()},
                    {"float16", folder.half()}, {"left_out", folder.left_out()},
                    {"copied", copied}};
    print_json(json);
    return;
  }
  fmt::print("{}: {}, {:.2f}M parameters in {} tensors{}\n", written.string(),
             name(folder.model().family), static_cast<double>(parameters) / 1e6,
             folder.tensors().size(),
             folder.half() ? "; float16 was converted to fp32, without loss" : "");
  if (folder.left_out() > 0)
    fmt::print(stderr,
               "note: {} tensors of layers that predict further tokens (num_nextn_predict_layers) "
               "were left out\n",
               folder.left_out());
}

}  // namespace

void add_import_command(Command app) {
  auto command = std::make_shared<ImportCommand>();
  const Command subcommand =
      app.add_subcommand("import", "import a Hugging Face model folder as a checkpoint");
  subcommand.footer(kFooter);
  subcommand.add_option("folder", command->from, "the folder of the model").required();
  subcommand
      .add_option("--out", command->to, "a new folder, like that of a run, or a .safetensors file")
      .required();
  add_json_flag(subcommand, command->json);
  subcommand.on_run([command] { run(*command); });
}

}  // namespace tessera
