// SPDX-License-Identifier: Apache-2.0
// The fields of a config.json, read with their types: a UserError names the file and the key.
#pragma once

#include <string>

#include "core/error.h"
#include "files/json.h"

namespace tessera {

// One object of the file; `path` names it in errors. A null counts as missing.
class Fields {
 public:
  Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  const Json* find(const char* key) const {
    const Json* found = json_.find(key);
    return found && !found->is_null() ? found : nullptr;
  }

  template <typename... Args>
  [[noreturn]] void refuse(std::string help, fmt::format_string<Args...> format,
                           Args&&... args) const {
    throw user_error("{}: {}", path_, fmt::format(format, std::forward<Args>(args)...))
        .help(std::move(help));
  }

  int64_t whole(const char* key) const {
    const Json* value = find(key);
    if (!value) refuse("is it the config of another kind of model?", "it has no {}", key);
    const int64_t number = value->integer().value_or(-1);
    if (number < 0) refuse("it must be an integer", "{} is {}", key, value->dump());
    return number;
  }
  int64_t whole(const char* key, int64_t otherwise) const {
    return find(key) ? whole(key) : otherwise;
  }
  double real(const char* key, double otherwise) const {
    const Json* value = find(key);
    if (!value) return otherwise;
    if (!value->number()) refuse("it must be a number", "{} is {}", key, value->dump());
    return *value->number();
  }
  bool flag(const char* key, bool otherwise) const {
    const Json* value = find(key);
    if (!value) return otherwise;
    if (!value->flag()) refuse("it must be true or false", "{} is {}", key, value->dump());
    return *value->flag();
  }
  std::string text(const char* key, const char* otherwise) const {
    const Json* value = find(key);
    if (!value) return otherwise;
    if (!value->text()) refuse("it must be a string", "{} is {}", key, value->dump());
    return *value->text();
  }
  // An object, or an empty one.
  Fields object(const char* key) const {
    static const Json kEmpty = Json::object();
    const Json* value = find(key);
    if (value && !value->is_object())
      refuse("it must be an object", "{} is {}", key, value->dump());
    return {value ? *value : kEmpty, path_};
  }
  // Settings for which only one value is supported.
  void only(const char* key, const Json& known) const {
    const Json* value = find(key);
    if (value && *value != known)
      refuse("such models cannot be imported", "{} is {}, but only {} is supported", key,
             value->dump(), known.dump());
  }
  bool empty() const { return json_.members().empty(); }

 private:
  const Json& json_;
  std::string path_;
};

}  // namespace tessera
