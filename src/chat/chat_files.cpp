// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_files.h"

#include <algorithm>

#include "core/error.h"
#include "files/mapped_file.h"

namespace tessera {
namespace {

constexpr int kFileDepth = 64;

std::string whole_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// Null where there is no such file.
Json json_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  Json json;
  const std::string wrong = parse_json(whole_text(path), kFileDepth, json);
  if (!wrong.empty())
    throw user_error("{} {}", path.string(), wrong).help("repair the file, or remove it");
  return json;
}

// A token is a text, or an object that has it as its content.
void add_tokens(const Json& json, std::vector<JsonMember>& variables) {
  for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                           "cls_token", "mask_token"}) {
    const Json* token = json.find(name);
    if (token && token->is_object()) token = token->find("content");
    if (!token || !token->text()) continue;
    const bool known = std::ranges::any_of(
        variables, [&](const JsonMember& variable) { return variable.name == name; });
    if (!known) variables.push_back({name, *token});
  }
}

// Of several by name, the one named "default".
const std::string* template_in(const Json& tokenizer_config) {
  const Json* found = tokenizer_config.find("chat_template");
  if (!found) return nullptr;
  for (const Json& item : found->items())
    if (const Json* name = item.find("name"); name && name->text() && *name->text() == "default")
      found = item.find("template");
  return found ? found->text() : nullptr;
}

}  // namespace

ChatTemplate read_chat_template(const std::filesystem::path& folder, const Tokenizer* tokenizer,
                                const std::string& given) {
  std::vector<JsonMember> variables;
  Json tokenizer_config;
  std::error_code ignored;
  if (!folder.empty()) {
    tokenizer_config = json_file(folder / "tokenizer_config.json");
    add_tokens(tokenizer_config, variables);
    add_tokens(json_file(folder / "special_tokens_map.json"), variables);
  }
  const bool known_end = std::ranges::any_of(
      variables, [](const JsonMember& variable) { return variable.name == "eos_token"; });
  if (tokenizer && !known_end)
    if (const std::optional<int32_t> end = tokenizer->document_end())
      variables.push_back({"eos_token", std::string(tokenizer->bytes_of(*end))});
  const auto plain = [&] { return ChatTemplate(kPlainChatTemplate, "plain", variables); };
  const auto marked = [&] { return ChatTemplate(kMarkedChatTemplate, "marked", variables); };
  if (given == "plain") return plain();
  if (given == "marked") return marked();
  if (!given.empty()) {
    if (!std::filesystem::exists(given, ignored))
      throw user_error("there is no chat template {}", given)
          .help(
              "give a file, plain or marked, or none: then the one next to the tokenizer is used");
    return ChatTemplate(whole_text(given), given, variables);
  }
  const std::filesystem::path file = folder / kChatTemplateFile;
  if (!folder.empty() && std::filesystem::exists(file, ignored))
    return ChatTemplate(whole_text(file), file.string(), variables);
  if (const std::string* found = template_in(tokenizer_config))
    return ChatTemplate(*found, (folder / "tokenizer_config.json").string(), variables);
  const bool has_marks =
      tokenizer && tokenizer->find_added("<|im_start|>") && tokenizer->find_added("<|im_end|>");
  return has_marks ? marked() : plain();
}

std::vector<int32_t> text_ends(const std::filesystem::path& folder) {
  std::vector<int32_t> ends;
  if (folder.empty()) return ends;
  const Json generation = json_file(folder / "generation_config.json");
  const Json* id = generation.find("eos_token_id");
  const auto add = [&](const Json& json) {
    if (json.integer() && *json.integer() >= 0 && *json.integer() <= INT32_MAX)
      ends.push_back(static_cast<int32_t>(*json.integer()));
  };
  if (!id) return ends;
  add(*id);
  for (const Json& item : id->items()) add(item);
  return ends;
}

}  // namespace tessera
