// SPDX-License-Identifier: Apache-2.0
// The config of training that starts from a stored model: the model is the stored one, all else is
// new.
#pragma once

#include "checkpoint/state_source.h"
#include "config/config.h"

namespace tessera {

struct ContinuedConfig {
  Config config;
  std::string note;  // what was changed in the model; empty: nothing
};

// The file and the overrides may change the model's fields. Where samples are longer than the
// model's context and nothing is said of it, the context grows to them and rope is stretched by as
// much. Adapters go on as they are; of new ones what is stored is the base.
ContinuedConfig continued_config(const StateSource& stored,
                                 const std::optional<std::filesystem::path>& file,
                                 std::span<const std::string> overrides);

// Where the config names no tokenizer, text becomes tokens of the stored model's; conversations are
// written by its chat template, too.
void name_text_format(const StateSource& stored, DataConfig& data);

}  // namespace tessera
