// SPDX-License-Identifier: Apache-2.0
// A config's model in a few words, for headings.
#pragma once

#include <string>

#include "config/config.h"

namespace tessera {

// "llama3-8b", or with what is set over the preset: "llama3-8b with layers=4 (1.92B parameters)".
std::string model_title(const Config& config);

}  // namespace tessera
