// SPDX-License-Identifier: Apache-2.0
// Multiple-choice questions from the lines of a .jsonl file, in three forms: as
// lm-evaluation-harness stores what it asked (samples_*.jsonl), as ARC has them, and plain. Each
// becomes the texts that a model is to score: a context and a continuation for each choice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/json.h"

namespace tessera {

struct StoredLikelihood {
  double log = 0;
  bool greedy = false;
};

struct Choice {
  std::string context, continuation;
  std::string text;  // of the choice alone, by whose length its likelihood is divided
  std::optional<StoredLikelihood> stored = {};  // that the file holds already
};

struct ChoiceQuestion {
  std::vector<Choice> choices;
  std::vector<size_t> answers;  // any of them is right
  Json doc;
  std::string place;  // "questions.jsonl, line 3"
};

// A UserError where the file is not .jsonl or a line is no question. 0: all lines that are not
// blank.
std::vector<ChoiceQuestion> read_choice_questions(const std::filesystem::path& path,
                                                  int64_t most = 0);

// Of one line, at `place`.
ChoiceQuestion parse_choice_question(std::string_view line, const std::string& place);

}  // namespace tessera
