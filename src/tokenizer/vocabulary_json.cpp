// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocabulary_json.h"

#include <map>
#include <unordered_set>

#include "core/error.h"
#include "tokenizer/byte_alphabet.h"

namespace tessera {
namespace {

// By token, for the many that look one up.
using Vocabulary = std::map<std::string_view, const Json*>;

Vocabulary vocabulary_of(const Json& model) {
  Vocabulary vocabulary;
  for (const auto& [token, id] : object_field(model, "vocab").members()) vocabulary[token] = &id;
  return vocabulary;
}

void check_model(const Json& model) {
  const Json* type = find_field(model, "type");
  if (type && *type != "BPE")
    throw user_error("the model is of type {}, which is not supported", type->dump())
        .help("only byte-level BPE is supported, as GPT-2, Llama 3 and Qwen use it");
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix", "dropout"}) {
    const Json* field = find_field(model, name);
    if (field && *field != "" && *field != 0.0)
      throw user_error("the model has {} {}, which is not supported", name, field->dump())
          .help(fmt::format("use a tokenizer without {}", name));
  }
  if (flag_field(model, "byte_fallback", false))
    throw UserError("the model has byte_fallback, so it is not byte-level")
        .help("only byte-level BPE is supported, as GPT-2, Llama 3 and Qwen use it");
}

// "a b", or ["a", "b"].
std::pair<std::string, std::string> halves(const Json& merge, size_t rank) {
  const std::span<const Json> pair = merge.items();
  if (pair.size() == 2 && pair[0].text() && pair[1].text())
    return {*pair[0].text(), *pair[1].text()};
  if (const std::string* text = merge.text()) {
    const size_t space = text->find(' ');
    if (space != std::string::npos && text->find(' ', space + 1) == std::string::npos)
      return {text->substr(0, space), text->substr(space + 1)};
  }
  throw user_error("merge {} is neither two tokens separated by a space nor a list of two", rank)
      .help("give a tokenizer.json, as the tokenizers library writes it");
}

int32_t id_of(const Vocabulary& vocabulary, const std::string& token, size_t rank) {
  const auto found = vocabulary.find(token);
  if (found == vocabulary.end())
    throw user_error("merge {} has {}, which is not in the vocabulary", rank, token)
        .help("the file is damaged: copy or create it again");
  return token_id(*found->second, token);
}

}  // namespace

void read_vocabulary(const Json& file, TokenizerSpec& spec) {
  const Json& model = object_field(file, "model");
  check_model(model);
  const Vocabulary vocabulary = vocabulary_of(model);
  std::vector<bool> taken;
  for (const auto& [name, json] : vocabulary) {
    const std::string token(name);
    const int32_t id = token_id(*json, token);
    if (static_cast<size_t>(id) >= taken.size()) taken.resize(static_cast<size_t>(id) + 1);
    if (taken[static_cast<size_t>(id)])
      throw user_error("two tokens of the vocabulary have the id {}", id)
          .help("the file is damaged: copy or create it again");
    taken[static_cast<size_t>(id)] = true;
    if (std::optional<std::string> bytes = from_byte_alphabet(token))
      spec.tokens.push_back({std::move(*bytes), id});
    else
      spec.other_tokens.push_back({token, id});
  }
  const std::span<const Json> merges = list_field(model, "merges");
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = halves(merges[rank], rank);
    spec.merges.push_back({id_of(vocabulary, left, rank), id_of(vocabulary, right, rank),
                           id_of(vocabulary, left + right, rank)});
  }
  spec.ignore_merges = flag_field(model, "ignore_merges", false);
}

void read_added_tokens(const Json& file, TokenizerSpec& spec) {
  if (!find_field(file, "added_tokens")) return;
  const Vocabulary vocabulary = vocabulary_of(object_field(file, "model"));
  std::unordered_set<int32_t> taken;
  for (const BytesToken& token : spec.tokens) taken.insert(token.id);
  for (const BytesToken& token : spec.other_tokens) taken.insert(token.id);
  for (const Json& json : list_field(file, "added_tokens")) {
    AddedToken token;
    token.text = text_field(json, "content");
    if (token.text.empty()) continue;
    const Json* id = find_field(json, "id");
    token.id = token_id(id ? *id : Json(), token.text);
    const auto in_vocabulary = vocabulary.find(token.text);
    if (in_vocabulary != vocabulary.end() && *in_vocabulary->second != token.id)
      throw user_error("the added token {} has the id {}, but in the vocabulary it has {}",
                       token.text, token.id, in_vocabulary->second->dump())
          .help("the file is damaged: copy or create it again");
    if (in_vocabulary == vocabulary.end() && !taken.insert(token.id).second)
      throw user_error("the added token {} has the id {} of another token", token.text, token.id)
          .help("give it a unique id");
    token.special = flag_field(json, "special", false);
    token.single_word = flag_field(json, "single_word", false);
    token.left_strip = flag_field(json, "lstrip", false);
    token.right_strip = flag_field(json, "rstrip", false);
    token.normalized = flag_field(json, "normalized", !token.special);
    spec.added.push_back(std::move(token));
  }
}

namespace {

[[noreturn]] void wrong(const std::string& name, const char* want) {
  throw user_error("{} is missing or not {}", name, want)
      .help("give a tokenizer.json, as the tokenizers library writes it");
}

}  // namespace

const Json* find_field(const Json& object, const std::string& name) {
  const Json* found = object.find(name);
  return found && !found->is_null() ? found : nullptr;
}

const Json& object_field(const Json& object, const std::string& name) {
  const Json* field = find_field(object, name);
  if (!field || !field->is_object()) wrong(name, "an object");
  return *field;
}

std::span<const Json> list_field(const Json& object, const std::string& name) {
  const Json* field = find_field(object, name);
  if (!field || !field->is_array()) wrong(name, "a list");
  return field->items();
}

std::string text_field(const Json& object, const std::string& name) {
  const Json* field = find_field(object, name);
  if (!field || !field->text()) wrong(name, "text");
  return *field->text();
}

bool flag_field(const Json& object, const std::string& name, bool otherwise) {
  const Json* field = find_field(object, name);
  if (!field) return otherwise;
  if (!field->flag()) wrong(name, "true or false");
  return *field->flag();
}

int32_t token_id(const Json& json, const std::string& token) {
  const int64_t id = json.integer().value_or(-1);
  if (id < 0 || id > kMaxTokenId)
    throw user_error("the token {} has no id from 0 to {}", token, kMaxTokenId)
        .help("give a tokenizer.json, as the tokenizers library writes it");
  return static_cast<int32_t>(id);
}

}  // namespace tessera
