// SPDX-License-Identifier: Apache-2.0
// The fields of a ModelConfig by name: one table to parse, print, check and document them, for
// configs, `--set` and help.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "models/model_config.h"

namespace tessera {

// The range keeps products of sizes inside 64 bits.
struct WholeField {
  int64_t ModelConfig::*member;
  int64_t lowest, highest;
  bool of_sequences = false;  // may be 0 in a model without a sequence
};
struct RealField {
  double ModelConfig::*member;
  double lowest, highest;
};

struct ModelField {
  std::string_view key;
  std::string_view doc;
  std::variant<WholeField, RealField, bool ModelConfig::*, Family ModelConfig::*,
               Activation ModelConfig::*, RouterScore ModelConfig::*, BalanceScope ModelConfig::*,
               RopeScaling ModelConfig::*>
      kind;
};

std::span<const ModelField> model_fields();

// Reads `text` into the field `key`; a UserError if there is no such field or the text is invalid.
void set_model_field(ModelConfig& config, std::string_view key, std::string_view text);
std::string model_field_text(const ModelConfig& config, const ModelField& field);

void check_field_ranges(const ModelConfig& config);

}  // namespace tessera
