// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer_writer.h"

#include <map>
#include <unordered_map>

#include "core/error.h"
#include "files/json.h"
#include "tokenizer/byte_alphabet.h"

namespace tessera {
namespace {

Json added_json(const TokenizerSpec& spec) {
  Json list = Json::array();
  for (const AddedToken& token : spec.added)
    list.push_back({{"id", token.id},
                    {"content", token.text},
                    {"single_word", token.single_word},
                    {"lstrip", token.left_strip},
                    {"rstrip", token.right_strip},
                    {"normalized", token.normalized},
                    {"special", token.special}});
  return list;
}

// The built-in rule is that of ByteLevel, another one is a Split before it.
Json splits_json(const TokenizerSpec& spec) {
  TESSERA_CHECK(spec.steps.size() == 1 && !spec.steps[0].literal && !spec.steps[0].prefix_space);
  const std::string& rule = spec.steps[0].pattern;
  const bool built_in = rule == kGpt2Rule;
  Json byte_level{{"type", "ByteLevel"},
                  {"add_prefix_space", false},
                  {"trim_offsets", false},
                  {"use_regex", built_in}};
  if (built_in) return byte_level;
  const Json split{{"type", "Split"},
                   {"pattern", {{"Regex", rule}}},
                   {"behavior", "Isolated"},
                   {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level})}};
}

Json model_json(const TokenizerSpec& spec) {
  std::unordered_map<int32_t, std::string> texts;
  std::map<std::string, int32_t> vocabulary;
  Json merges = Json::array();
  // The library wants special tokens in the vocabulary, too.
  for (const AddedToken& token : spec.added) vocabulary[token.text] = token.id;
  for (const BytesToken& token : spec.tokens)
    vocabulary[texts[token.id] = to_byte_alphabet(token.bytes)] = token.id;
  for (const BpeMerge& merge : spec.merges)
    merges.push_back(Json::array({texts[merge.left], texts[merge.right]}));
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", spec.ignore_merges},
          {"vocab", vocabulary},
          {"merges", std::move(merges)}};
}

}  // namespace

std::string to_tokenizer_json(const TokenizerSpec& spec) {
  const Json file{{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", added_json(spec)},
                  {"normalizer", spec.composes ? Json{{"type", "NFC"}} : Json()},
                  {"pre_tokenizer", splits_json(spec)},
                  {"post_processor", nullptr},
                  {"decoder",
                   {{"type", "ByteLevel"},
                    {"add_prefix_space", true},
                    {"trim_offsets", true},
                    {"use_regex", true}}},
                  {"model", model_json(spec)}};
  return sorted(file).dump(1) + "\n";
}

}  // namespace tessera
