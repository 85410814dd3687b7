// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/testing/made_tokenizer.h"

#include <fmt/format.h>

#include <array>

#include "files/json.h"
#include "tokenizer/byte_alphabet.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 22> kWords{
    " the", "The",  "ing", " return", "    ",   "\n\n", "it's", "1234", " лиса", "狐狸", "é",
    "👍",    "aaaa", "in",  "nt",      " naïve", "'s",   "--",   "he",   "ion",   "  ",   "\r\n"};

struct Merge {
  std::string left, right;
};

// The halves of every word's prefixes, each merged text once.
std::vector<Merge> made_merges() {
  std::vector<Merge> merges;
  std::map<std::string, bool> made;
  for (const std::string_view word : kWords)
    for (size_t end = 2; end <= word.size(); ++end)
      if (made.emplace(word.substr(0, end), true).second)
        merges.push_back({std::string(word.substr(0, end - 1)), std::string(1, word[end - 1])});
  return merges;
}

}  // namespace

ReferenceRanks made_ranks() {
  ReferenceRanks ranks;
  for (const Merge& merge : made_merges())
    ranks.emplace(std::pair(merge.left, merge.right), static_cast<int>(ranks.size()));
  return ranks;
}

int32_t made_id(const std::string& bytes) {
  if (bytes.size() == 1) return static_cast<unsigned char>(bytes[0]);
  const std::vector<Merge> merges = made_merges();
  for (size_t i = 0; i < merges.size(); ++i)
    if (merges[i].left + merges[i].right == bytes) return static_cast<int32_t>(256 + i);
  return -1;
}

std::string made_tokenizer_json(const MadeTokenizer& how) {
  std::map<std::string, int32_t> vocabulary;
  Json merges = Json::array();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[to_byte_alphabet(std::string(1, static_cast<char>(byte)))] = byte;
  for (const Merge& merge : made_merges()) {
    const std::string left = to_byte_alphabet(merge.left), right = to_byte_alphabet(merge.right);
    vocabulary[left + right] = made_id(merge.left + merge.right);
    merges.push_back(how.merges_as_pairs ? Json::array({left, right})
                                         : Json(fmt::format("{} {}", left, right)));
  }
  Json steps = Json::array();
  if (!how.rule.empty())
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", how.rule}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", how.prefix_space},
                   {"trim_offsets", true},
                   {"use_regex", how.rule.empty()}});
  const Json file{{"version", "1.0"},
                  {"added_tokens", parse_json(how.added)},
                  {"normalizer", how.composes ? Json{{"type", "NFC"}} : Json()},
                  {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
                  {"post_processor", parse_json(how.post_processor)},
                  {"decoder", {{"type", "ByteLevel"}}},
                  {"model",
                   {{"type", "BPE"},
                    {"dropout", nullptr},
                    {"unk_token", nullptr},
                    {"continuing_subword_prefix", ""},
                    {"end_of_word_suffix", ""},
                    {"fuse_unk", false},
                    {"byte_fallback", false},
                    {"ignore_merges", how.ignore_merges},
                    {"vocab", vocabulary},
                    {"merges", merges}}}};
  return file.dump();
}

}  // namespace tessera
