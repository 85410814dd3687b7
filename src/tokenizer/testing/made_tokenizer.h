// SPDX-License-Identifier: Apache-2.0
// For tests: a tokenizer.json with all bytes and merges that build a list of words from the left,
// split as GPT-2, Llama 3 or Qwen do.
#pragma once

#include <string>

#include "tokenizer/testing/reference_split.h"
#include "tokenizer/tokenizer_spec.h"

namespace tessera {

struct MadeTokenizer {
  std::string rule = "";  // that of ByteLevel
  bool composes = false;
  bool ignore_merges = false;
  bool prefix_space = false;
  bool merges_as_pairs = false;
  std::string added = "[]";
  std::string post_processor = "null";
};

std::string made_tokenizer_json(const MadeTokenizer& how);
ReferenceRanks made_ranks();  // of its merges, over bytes
// Id of a token of the vocabulary: bytes come first, by value, then the merged by rank.
int32_t made_id(const std::string& bytes);

}  // namespace tessera
