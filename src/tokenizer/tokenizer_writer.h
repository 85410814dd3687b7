// SPDX-License-Identifier: Apache-2.0
// A tokenizer as the text of a tokenizer.json, which the tokenizers library reads too.
#pragma once

#include <string>

#include "tokenizer/tokenizer_spec.h"

namespace tessera {

std::string to_tokenizer_json(const TokenizerSpec& spec);

}  // namespace tessera
