// SPDX-License-Identifier: Apache-2.0
// The contents of a tokenizer.json, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe_model.h"

namespace tessera {

// GPT-2's splitting rule, which ByteLevel has built in.
inline constexpr const char* kGpt2Rule =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Those of Llama 3, which takes three digits at a time, and of Qwen, which takes one.
inline constexpr const char* kLlama3Rule =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kQwenRule =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// One step of splitting text into words; every piece of the previous step is split separately.
struct SplitStep {
  std::string pattern;  // empty: nothing is cut
  bool literal = false;
  bool keeps_matches = true, keeps_rest = true;
  bool prefix_space = false;  // before a piece that does not begin with one, before it is cut
};

struct TokenizerSpec {
  std::vector<BytesToken> tokens = {};  // of the byte-level vocabulary
  // Of the vocabulary, but not made of its bytes' characters.
  std::vector<BytesToken> other_tokens = {};
  std::vector<BpeMerge> merges = {};  // by rank
  bool ignore_merges = false;         // a word that is itself a token becomes that token
  std::vector<AddedToken> added = {};
  bool composes = false;  // text is normalized to form C
  std::vector<SplitStep> steps = {};
  std::vector<int32_t> before = {}, after = {};  // special tokens put around a text
};

}  // namespace tessera
