// SPDX-License-Identifier: Apache-2.0
// The values of a chat template, as Python's: what they print as, when they are true, when they are
// equal. Lists and dicts never change, so they are shared; a namespace is the one thing that does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "files/json.h"

namespace tessera {

class JinjaValue;

struct JinjaUndefined {};
struct JinjaNone {};

struct JinjaList {
  std::vector<JinjaValue> items;
  bool is_tuple = false;
  int depth = 1;  // of values within values
};

using JinjaMember = std::pair<std::string, JinjaValue>;

struct JinjaDict {
  std::vector<JinjaMember> members;  // in the order in which they came
  int depth = 1;

  const JinjaValue* find(std::string_view name) const;
};

struct JinjaNamespace {
  std::vector<JinjaMember> members;
};

// What `loop` is within a for.
struct JinjaLoop {
  size_t index = 0;
  std::shared_ptr<const JinjaList> items;
  int depth = 1;
};

struct JinjaMacro;  // of the syntax tree

// Something to call: a global function, a macro, or a method with the value that it is of.
struct JinjaFunction {
  std::string name;
  const JinjaMacro* macro = nullptr;
  std::shared_ptr<const JinjaValue> self;
};

class JinjaValue {
 public:
  using Text = std::shared_ptr<const std::string>;
  using List = std::shared_ptr<const JinjaList>;
  using Dict = std::shared_ptr<const JinjaDict>;
  using Namespace = std::shared_ptr<JinjaNamespace>;
  using Loop = std::shared_ptr<const JinjaLoop>;
  using Function = std::shared_ptr<const JinjaFunction>;
  using Kind = std::variant<JinjaUndefined, JinjaNone, bool, int64_t, double, Text, List, Dict,
                            Namespace, Loop, Function>;

  JinjaValue() = default;  // undefined
  template <typename T>
  explicit JinjaValue(T value) : kind_(std::move(value)) {}

  static JinjaValue none() { return JinjaValue(JinjaNone()); }
  static JinjaValue text(std::string text);
  static JinjaValue list(std::vector<JinjaValue> items, bool is_tuple = false);
  static JinjaValue dict(std::vector<JinjaMember> members);
  static JinjaValue from_json(const Json& json);

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&kind_);
  }
  bool is_undefined() const { return get<JinjaUndefined>(); }
  bool is_none() const { return get<JinjaNone>(); }
  const std::string* as_text() const;
  const JinjaList* as_list() const;
  const JinjaDict* as_dict() const;
  // A bool counts as 0 or 1, as in Python.
  const int64_t* as_integer(int64_t& storage) const;
  bool as_number(double& number) const;

  bool truth() const;
  std::string type_name() const;  // for messages
  int depth() const;              // of values within values; 0: holds none

  bool operator==(const JinjaValue& other) const;

 private:
  Kind kind_;
};

// As Python's str() and repr().
std::string to_text(const JinjaValue& value);
std::string to_representation(const JinjaValue& value);
std::string float_text(double number);

struct JinjaJsonStyle {
  int indent = -1;  // none
  bool ascii = false, sorted = false;
  std::string between_items = ", ", between_pair = ": ";
};

// As Python's json.dumps; a UserError for what JSON does not have.
std::string to_json_text(const JinjaValue& value, const JinjaJsonStyle& style);

}  // namespace tessera
