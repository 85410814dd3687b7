// SPDX-License-Identifier: Apache-2.0
// The model that a config asks for: its preset with the fields of [model] set over it.
#pragma once

#include <string>

#include "config/config.h"
#include "core/precision.h"
#include "models/model_config.h"

namespace tessera {

ModelConfig model_of_config(const Config& config);
// "llama3-8b", or with what is set over the preset: "llama3-8b with layers=4 (1.92B parameters)".
std::string model_title(const Config& config);
Precision precision_of_config(const Config& config);

// The shape of one microbatch.
BatchShape microbatch_shape(const Config& config, const ModelConfig& model);

int64_t tokens_per_step(const Config& config, const ModelConfig& model);

// Threads to work with: train.threads, or as many as this process may run on.
int threads_of_config(const Config& config);

}  // namespace tessera
