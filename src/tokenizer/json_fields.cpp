// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/json_fields.h"

#include "core/error.h"

namespace tessera {
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
