// SPDX-License-Identifier: Apache-2.0
// A stored model: a Tessera checkpoint or a Hugging Face folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/state_source.h"
#include "config/config.h"
#include "models/model_config.h"

namespace tessera {

// Of a step's folder, one file, a run's output folder (its newest valid checkpoint), a Hugging
// Face folder or one of PEFT; verified. Adapters come with the model that they were trained beside:
// that of `base`, or else the one that they name.
std::unique_ptr<StateSource> open_stored_model(const std::string& from,
                                               const std::string& base = "");
// The same of a checkpoint.
std::unique_ptr<StateSource> with_base(const std::filesystem::path& checkpoint,
                                       const std::string& base = "");

// What adapters stand beside, whose weights are whole. `adapters`: where those are, for errors.
std::unique_ptr<StateSource> open_base(const std::string& path, const std::string& adapters);

// The config that it was trained with; for an imported model as much as is known.
Config config_of(const StateSource& stored);

// Its tokenizer.json: the one `given`; the one in the output folder of its run, next to its file or
// in its folder; the one that its config names. Empty: none.
std::filesystem::path tokenizer_of(const StateSource& stored, const std::string& given);

// All fields of the model, and those of its adapters, "model.layers=4" each: weaker settings for
// load_config.
std::vector<std::string> model_settings(const ModelConfig& model, LoraSettings lora);

// The checkpoint for a path on the command line: a step's folder, one file, or the newest valid one
// of a run's output folder.
// Verified. Newer ones that are not valid are named on stderr.
Checkpoint find_checkpoint(const std::string& from);

}  // namespace tessera
