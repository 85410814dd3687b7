// SPDX-License-Identifier: Apache-2.0
// What the questions `generate` and `chat` have in common: how a token is chosen.
#pragma once

#include "inference/text_generator.h"
#include "studio/answers.h"

namespace tessera {

// From the fields tokens, temperature, top_k, top_p and seed; a UserError where one is out of
// bounds.
GenerateOptions asked_choice(const Json& fields);

}  // namespace tessera
