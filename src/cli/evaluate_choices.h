// SPDX-License-Identifier: Apache-2.0
// tessera evaluate --choices: which of several continuations a stored model finds most likely.
#pragma once

#include <string>

#include "cli/run_options.h"

namespace tessera {

struct EvaluateCommand {
  std::string from, data, tokenizer, base;
  RunOptions run;
  int64_t samples = 0;
  bool averaged = false;
  bool choices = false;
  std::string prefix, out;  // with `choices`
};

void evaluate_choices(const EvaluateCommand& command);

}  // namespace tessera
