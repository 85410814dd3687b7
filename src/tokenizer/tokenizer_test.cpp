// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include "tokenizer/encoder.h"
#include "tokenizer/testing/made_tokenizer.h"
#include "tokenizer/testing/mixed_text.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

Tokenizer made(const MadeTokenizer& how) {
  return parse_tokenizer(made_tokenizer_json(how), "made");
}

std::vector<int32_t> ids_of(const std::vector<std::string>& tokens) {
  std::vector<int32_t> ids;
  for (const std::string& token : tokens) ids.push_back(made_id(token));
  return ids;
}

// The definition, step by step: words, then merges.
std::vector<int32_t> reference_ids(const std::vector<std::string>& words) {
  const ReferenceRanks ranks = made_ranks();
  std::map<std::string, std::vector<int32_t>> known;
  std::vector<int32_t> ids;
  for (const std::string& word : words) {
    auto [found, fresh] = known.try_emplace(word);
    if (fresh)
      for (const std::string& part : reference_bpe(word, ranks))
        found->second.push_back(
            part.size() == 1
                ? static_cast<unsigned char>(part[0])
                : ranks.at({part.substr(0, part.size() - 1), part.substr(part.size() - 1)}) + 256);
    ids.insert(ids.end(), found->second.begin(), found->second.end());
  }
  return ids;
}

constexpr const char* kEndOfText =
    R"([{"id":900,"content":"<|endoftext|>","single_word":false,"lstrip":false,"rstrip":false,
        "normalized":false,"special":true}])";

TEST(Tokenizer, GivesTheIdsWorkedOutByHand) {
  const Tokenizer gpt2 = made({});
  EXPECT_EQ(Encoder(gpt2).encode("The thing, it's"),
            ids_of({"The", " th", "ing", ",", " ", "it", "'s"}));
  const Tokenizer llama3 = made({.rule = kLlama3Rule});
  EXPECT_EQ(Encoder(llama3).encode("12345\r\n\n"), ids_of({"123", "4", "5", "\r", "\n\n"}));
}

TEST(Tokenizer, AgreesWithTheReferenceOnMixedText) {
  const std::string text = mixed_text(300'000, 2, false);
  const Tokenizer gpt2 = made({});
  EXPECT_EQ(Encoder(gpt2).encode(text), reference_ids(reference_gpt2_split(text)));
  const Tokenizer llama3 = made({.rule = kLlama3Rule});
  EXPECT_EQ(Encoder(llama3).encode(text), reference_ids(reference_llama3_split(text, 3)));
  const Tokenizer qwen = made({.rule = kQwenRule, .merges_as_pairs = true});
  EXPECT_EQ(Encoder(qwen).encode(text), reference_ids(reference_llama3_split(text, 1)));
}

TEST(Tokenizer, GivesBackAMegabyteOfMixedTextWithBytesThatAreNotUtf8) {
  const std::string text = mixed_text(1'000'000, 3, true);
  for (const char* rule : {"", kLlama3Rule, kQwenRule}) {
    const Tokenizer tokenizer = made({.rule = rule, .added = kEndOfText});
    const std::vector<int32_t> ids = Encoder(tokenizer).encode(text);
    EXPECT_EQ(tokenizer.decode(ids), text);
    EXPECT_LT(ids.size(), text.size());
  }
}

TEST(Tokenizer, GivesBackEveryPairOfBytes) {
  const Tokenizer tokenizer = made({.rule = kLlama3Rule});
  Encoder encoder(tokenizer);
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      ASSERT_EQ(tokenizer.decode(encoder.encode(text)), text) << first << " " << second;
    }
}

TEST(Tokenizer, FindsTheLongestAddedTokenBeforeItSplits) {
  const Tokenizer tokenizer = made({.added = R"([
      {"id":900,"content":"<|end|>","special":true}, {"id":901,"content":"<|end|>>","special":true},
      {"id":902,"content":"Cat","normalized":true,"single_word":true}])"});
  EXPECT_EQ(Encoder(tokenizer).encode("a<|end|>>b<|end|>"),
            (std::vector<int32_t>{'a', 901, 'b', 900}));
  EXPECT_EQ(Encoder(tokenizer).encode("Cat Cats"),
            (std::vector<int32_t>{902, ' ', 'C', 'a', 't', 's'}));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{901, 902}), "<|end|>>Cat");
}

TEST(Tokenizer, FindsNothingWithinAnAddedTokenThatDoesNotStandAlone) {
  const Tokenizer tokenizer = made({.added = R"([
      {"id":900,"content":"Cat","normalized":true,"single_word":true},
      {"id":901,"content":"at","normalized":true}])"});
  EXPECT_EQ(Encoder(tokenizer).encode("Cats at"),
            (std::vector<int32_t>{'C', 'a', 't', 's', ' ', 901}));
}

TEST(Tokenizer, LetsAnAddedTokenSwallowTheSpaceBesideIt) {
  const Tokenizer tokenizer = made({.added = R"([
      {"id":900,"content":"[L]","lstrip":true}, {"id":901,"content":"[R]","rstrip":true}])"});
  EXPECT_EQ(Encoder(tokenizer).encode("a \n[L] b[R] \xE3\x80\x80 c"),
            (std::vector<int32_t>{'a', 900, ' ', 'b', 901, 'c'}));
}

TEST(Tokenizer, ComposesWhereAsked) {
  const std::string apart = "cafe\xCC\x81", together = "caf\xC3\xA9";
  const Tokenizer plain = made({}), composing = made({.composes = true});
  EXPECT_EQ(Encoder(composing).encode(apart), Encoder(plain).encode(together));
  EXPECT_NE(Encoder(plain).encode(apart), Encoder(plain).encode(together));
}

TEST(Tokenizer, PutsASpaceBeforeATextWhereAsked) {
  const Tokenizer plain = made({}), spacing = made({.prefix_space = true});
  EXPECT_EQ(Encoder(spacing).encode("the the"), Encoder(plain).encode(" the the"));
  EXPECT_EQ(Encoder(spacing).encode(" the"), Encoder(plain).encode(" the"));
}

TEST(Tokenizer, TakesAWholeWordWhereMergesAreIgnored) {
  // " naïve" cannot be reached by merges that begin with "na".
  const Tokenizer tokenizer = made({.ignore_merges = true});
  EXPECT_EQ(Encoder(tokenizer).encode("The naïve"), ids_of({"The", " naïve"}));
}

TEST(Tokenizer, KnowsWhatIsPutAroundAText) {
  const Tokenizer tokenizer = made({.added = kEndOfText, .post_processor = R"({"type":"Sequence",
      "processors":[{"type":"ByteLevel"},{"type":"TemplateProcessing","single":[
      {"SpecialToken":{"id":"<|endoftext|>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
      "special_tokens":{"<|endoftext|>":{"id":"<|endoftext|>","ids":[900],"tokens":["x"]}}}]})"});
  EXPECT_EQ(tokenizer.spec().before, std::vector<int32_t>{900});
  EXPECT_TRUE(tokenizer.spec().after.empty());
  EXPECT_EQ(tokenizer.document_end(), 900);
  EXPECT_EQ(tokenizer.vocabulary_size(), 901);
}

TEST(Tokenizer, EncodesAMegabyteThatIsOneWord) {
  const Tokenizer tokenizer = made({});
  const std::string text(1'000'000, 'a');
  EXPECT_EQ(Encoder(tokenizer).encode(text), std::vector<int32_t>(500'000, made_id("aa")));
}

}  // namespace
}  // namespace tessera
