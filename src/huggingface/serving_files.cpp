// SPDX-License-Identifier: Apache-2.0
#include "huggingface/serving_files.h"

#include <algorithm>

#include "chat/chat_encoder.h"
#include "chat/chat_files.h"
#include "core/error.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "files/mapped_file.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer/tokenizer_writer.h"

namespace tessera {
namespace {

constexpr int64_t kBytes = 256;

std::string text_of(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return "";
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// Its tokens are the bytes, under their numbers.
std::string byte_tokenizer_json() {
  TokenizerSpec spec;
  for (int32_t byte = 0; byte < kBytes; ++byte)
    spec.tokens.push_back({std::string(1, static_cast<char>(byte)), byte});
  spec.steps = {{.pattern = kGpt2Rule}};
  return to_tokenizer_json(spec);
}

// Nothing for one of a kind that we do not read: it is copied all the same.
std::optional<Tokenizer> readable(const std::string& json) {
  if (json.empty()) return {};
  try {
    return parse_tokenizer(json, "tokenizer.json");
  } catch (const UserError&) {
    return {};
  }
}

// Of a name in tokenizer_config.json: a text, or an object that has it as its content.
std::optional<int32_t> token_named(const Json& config, const char* name, const Tokenizer& words) {
  const Json* token = config.find(name);
  if (token && token->is_object()) token = token->find("content");
  return token && token->text() ? words.find_added(*token->text()) : std::nullopt;
}

std::optional<int32_t> first_of(std::initializer_list<std::optional<int32_t>> tokens) {
  for (const std::optional<int32_t>& token : tokens)
    if (token) return token;
  return {};
}

void add_once(std::vector<int32_t>& tokens, std::optional<int32_t> token) {
  if (token && std::ranges::find(tokens, *token) == tokens.end()) tokens.push_back(*token);
}

// Where texts begin and end is what the tokenizer itself says.
Json new_tokenizer_config(const Tokenizer& words, std::optional<int32_t> answer_end,
                          int64_t context) {
  const std::optional<int32_t> document_end = words.document_end();
  const std::vector<int32_t>& before = words.spec().before;
  const auto begin = before.empty() ? document_end : std::optional(before.front());
  const auto is_added = [&](std::optional<int32_t> token) {
    return token && words.find_added(words.bytes_of(*token)) == token;
  };
  const auto end = is_added(answer_end) ? answer_end : document_end;
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"model_max_length", context},
              {"clean_up_tokenization_spaces", false},
              {"add_bos_token", !before.empty()}};
  if (is_added(begin)) config["bos_token"] = words.bytes_of(*begin);
  if (is_added(end)) config["eos_token"] = words.bytes_of(*end);
  return config;
}

}  // namespace

ServingFiles::ServingFiles(const std::filesystem::path& folder,
                           const std::filesystem::path& tokenizer, const ModelConfig& model,
                           const std::string& chat_template) {
  std::string words_json = text_of(folder / "tokenizer.json");
  if (words_json.empty() && !tokenizer.empty()) words_json = text_of(tokenizer_file_of(tokenizer));
  if (words_json.empty() && model.vocabulary == kBytes) words_json = byte_tokenizer_json();
  if (words_json.empty()) return;
  files_.emplace_back("tokenizer.json", words_json);
  const std::optional<Tokenizer> words = readable(words_json);
  if (!words) return;

  const ChatTemplate chat = read_chat_template(folder, &*words, chat_template);
  const bool talks =
      !chat_template.empty() || (chat.origin() != "plain" && chat.origin() != "marked");
  const std::optional<int32_t> answer_end =
      talks ? ChatEncoder(chat, &*words).answer_end() : std::nullopt;
  const std::string known_config = text_of(folder / "tokenizer_config.json");
  Json config = known_config.empty() ? new_tokenizer_config(*words, answer_end, model.context)
                                     : parse_json(known_config);
  if (talks) {
    config["chat_template"] = chat.source();
    files_.emplace_back("chat_template.jinja", chat.source());
  }
  files_.emplace_back("tokenizer_config.json", config.dump(2) + "\n");

  const std::string known_generation = text_of(folder / "generation_config.json");
  Json generation = known_generation.empty() ? Json::object() : parse_json(known_generation);
  std::vector<int32_t> ends = text_ends(folder);
  ends_.begin = token_named(config, "bos_token", *words);
  ends_.end = first_of({token_named(config, "eos_token", *words),
                        ends.empty() ? std::nullopt : std::optional(ends.front()),
                        words->document_end(), answer_end});
  add_once(ends, answer_end);
  add_once(ends, ends_.end);
  if (ends_.begin && !generation.find("bos_token_id")) generation["bos_token_id"] = *ends_.begin;
  if (!ends.empty()) generation["eos_token_id"] = ends;
  if (!generation.members().empty())
    files_.emplace_back("generation_config.json", generation.dump(2) + "\n");
}

std::vector<std::string> ServingFiles::write_to(const std::filesystem::path& to) const {
  std::vector<std::string> names;
  for (const auto& [name, text] : files_) {
    write_file_atomically(to / name, text);
    names.push_back(name);
  }
  return names;
}

}  // namespace tessera
