// SPDX-License-Identifier: Apache-2.0
// tessera checkpoint: lists, verifies, shows and converts checkpoints.
#include <fmt/ranges.h>

#include <memory>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/convert.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "files/json.h"
#include "inference/stored_model.h"
#include "ir/optimizer.h"
#include "models/model_size.h"
#include "models/presets.h"
#include "record/run_folder.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "A checkpoint is the folder of a step (out/checkpoints/step-00000300) or one .safetensors\n"
    "file; the output folder of a run means its newest complete checkpoint.\n"
    "Examples:\n"
    "  tessera checkpoint ls out\n"
    "  tessera checkpoint verify out                            checks every byte of every "
    "checkpoint\n"
    "  tessera checkpoint show out/checkpoints/step-00000300\n"
    "  tessera checkpoint convert out all.safetensors           every state, in one file\n"
    "  tessera checkpoint convert out model.safetensors --weights bf16\n"
    "  tessera checkpoint convert all.safetensors out/copy      to resume from\n"
    "The format: docs/checkpoints.md";

struct CheckpointCommand {
  std::string from, to, weights;
  bool averaged = false, overwrite = false, json = false;
};

struct Listed {
  StepFolder folder;
  std::optional<Checkpoint> checkpoint;
  std::string problem;
};

// All checkpoints of a run's folder, or the named one; `bytes`: every byte is read.
std::vector<Listed> list(const std::string& from, bool bytes) {
  const std::filesystem::path path = from;
  if (!std::filesystem::exists(path))
    throw user_error("there is no file or folder {}", from)
        .help("give a checkpoint, or the folder that `tessera train --out` wrote");
  const bool is_folder = std::filesystem::is_directory(path);
  if (!is_folder && !to_one_file(path))
    throw user_error("{} is a file, but not a checkpoint", from)
        .help("give the folder of a run or of a checkpoint, or a checkpoint's .safetensors file");
  const bool one = !is_folder || std::filesystem::exists(path / kManifestName);
  const std::vector<StepFolder> folders =
      one ? std::vector<StepFolder>{{0, path}} : step_folders(checkpoints_of(path));
  if (folders.empty())
    throw user_error("there is no checkpoint in {}", checkpoints_of(path).string())
        .help("train with --save-every N to get one");
  std::vector<Listed> all;
  for (const StepFolder& folder : folders) {
    Listed listed{folder, {}, {}};
    try {
      listed.checkpoint.emplace(folder.path);
      if (bytes) listed.checkpoint->verify();
    } catch (const UserError& error) {
      if (one && !bytes) throw;
      listed.problem = error.message();
    }
    all.push_back(std::move(listed));
  }
  return all;
}

Json json_of(const Listed& listed) {
  Json json{{"path", listed.folder.path.string()}, {"problem", listed.problem}};
  if (!listed.checkpoint) return json;
  const CheckpointFacts& facts = listed.checkpoint->facts();
  json["step"] = facts.position.step;
  json["next_sample"] = facts.position.next_sample;
  json["tokens"] = facts.position.tokens;
  json["mesh"] = facts.mesh;
  json["files"] = listed.checkpoint->manifest().files.size();
  json["bytes"] = listed.checkpoint->manifest().bytes();
  return json;
}

void print(const std::vector<Listed>& all, bool bytes, bool json) {
  if (json) {
    Json results = Json::array();
    for (const Listed& listed : all) results.push_back(json_of(listed));
    print_json({{"results", results}});
    return;
  }
  for (const Listed& listed : all) {
    if (!listed.problem.empty()) {
      fmt::print("{}  BROKEN: {}\n", listed.folder.path.string(), listed.problem);
      continue;
    }
    const Manifest& manifest = listed.checkpoint->manifest();
    fmt::print("{}  step {}, {} tokens, {} in {} file{}, saved on {}{}\n",
               listed.folder.path.string(), manifest.facts.position.step,
               manifest.facts.position.tokens, short_bytes(manifest.bytes()), manifest.files.size(),
               manifest.files.size() == 1 ? "" : "s", saved_on(manifest.facts),
               bytes ? ": every byte as written" : "");
  }
}

void run_list(const CheckpointCommand& command, bool bytes) {
  const std::vector<Listed> all = list(command.from, bytes);
  print(all, bytes, command.json);
  for (const Listed& listed : all)
    if (bytes && !listed.problem.empty()) throw ExitStatus(1);
}

// Of a program's own model, whose sizes the checkpoint alone knows here.
int64_t stored_parameters(const Checkpoint& checkpoint) {
  int64_t count = 0;
  for (const auto& [name, tensor] : checkpoint.tensors())
    if (!is_companion(name)) count += tensor.elements();
  return count;
}

void run_show(const CheckpointCommand& command) {
  const Checkpoint checkpoint = find_checkpoint(command.from);
  const CheckpointFacts& facts = checkpoint.facts();
  const Config config = config_of(checkpoint);
  const bool own = preset_name(config) == kOwnPreset;
  const ModelConfig model = own ? ModelConfig{.family = Family::Own} : resolve_model(config);
  const int64_t parameters = own ? stored_parameters(checkpoint) : parameter_count(model);
  if (command.json) {
    Json json = json_of({{0, checkpoint.path()}, {}, {}});
    json["step"] = facts.position.step;
    json["model"] = model_name(config);
    json["family"] = name(model.family);
    json["parameters"] = parameters;
    json["config"] = facts.config_toml;
    if (!facts.run.empty()) json["run"] = facts.run;
    for (const auto& [name, tensor] : checkpoint.tensors())
      json["results"].push_back(
          {{"name", name}, {"dtype", tessera::name(tensor.dtype)}, {"shape", tensor.shape}});
    print_json(json);
    return;
  }
  fmt::print("{}\nmodel {}: {}, {:.2f}M parameters\n", checkpoint.path().string(),
             model_name(config), row_of(model.family).name, static_cast<double>(parameters) / 1e6);
  fmt::print("step {}, next sample {}, {} tokens, seed {}, saved on {}{}\n\n", facts.position.step,
             facts.position.next_sample, facts.position.tokens, facts.seed, saved_on(facts),
             facts.run.empty() ? "" : " by run " + facts.run);
  for (const auto& [name, tensor] : checkpoint.tensors())
    fmt::print("{:<36} {} [{}]\n", name, tessera::name(tensor.dtype),
               fmt::join(tensor.shape, ", "));
  fmt::print("\n{}", facts.config_toml);
}

void run_convert(const CheckpointCommand& command) {
  ConvertOptions options{.weights = {}, .averaged = command.averaged};
  if (!command.weights.empty()) options.weights = dtype_from_name(command.weights);
  if (options.averaged && !options.weights)
    throw user_error("--averaged needs --weights: only weights have a moving average")
        .help("add --weights fp32");
  if (to_one_file(command.to))
    require_free_file(command.to, command.overwrite);
  else
    require_free_folder(command.to, command.overwrite);
  const Checkpoint checkpoint = find_checkpoint(command.from);
  const auto written = convert_checkpoint(checkpoint, command.to, options);
  if (command.json) {
    const Json json{{"checkpoint", checkpoint.path().string()},
                    {"step", checkpoint.facts().position.step},
                    {"out", written.string()}};
    print_json(json);
    return;
  }
  fmt::print("{}\n", written.string());
}

Command add_action(Command app, CheckpointCommand& command, const char* name, const char* doc) {
  const Command action = app.add_subcommand(name, doc);
  action.add_option("folder", command.from, "a checkpoint, or the output folder of a run")
      .required();
  return action;
}

}  // namespace

void add_checkpoint_command(Command app) {
  auto command = std::make_shared<CheckpointCommand>();
  const Command checkpoint =
      app.add_subcommand("checkpoint", "list, verify, show and convert checkpoints");
  checkpoint.footer(kFooter);
  checkpoint.require_subcommand();
  const Command ls = add_action(checkpoint, *command, "ls", "list a run's checkpoints");
  ls.on_run([command] { run_list(*command, false); });
  const Command verify = add_action(checkpoint, *command, "verify",
                                    "read every byte; exit code 1 if a checkpoint is damaged");
  verify.on_run([command] { run_list(*command, true); });
  const Command show =
      add_action(checkpoint, *command, "show", "show position, tensors and config");
  show.on_run([command] { run_show(*command); });
  const Command convert = add_action(checkpoint, *command, "convert",
                                     "convert between a folder and one .safetensors file");
  convert.add_option("to", command->to, "a .safetensors file, or the folder of a run").required();
  convert.add_option("--weights", command->weights, "write only the weights, in this dtype")
      .choices({"fp32", "bf16", "fp64"});
  convert.add_flag("--averaged", command->averaged, "use the moving average of the weights");
  convert.add_flag("--overwrite", command->overwrite, "replace an existing file");
  convert.on_run([command] { run_convert(*command); });
  for (const Command action : {ls, verify, show, convert}) add_json_flag(action, command->json);
}

}  // namespace tessera
