// SPDX-License-Identifier: Apache-2.0
// The keys of [lora], and the adapters that they stand for.
#pragma once

#include "config/config_fields.h"
#include "models/lora_config.h"

namespace tessera {

inline constexpr Bounds kLoraRank{0, 65536}, kLoraAlpha{1e-9, 1e9};

std::vector<ConfigField> lora_fields(LoraSettings& lora);

LoraConfig resolve_lora(const LoraSettings& settings);
void check_lora(const LoraSettings& settings);

}  // namespace tessera
