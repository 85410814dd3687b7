// SPDX-License-Identifier: Apache-2.0
#include "files/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace tessera {
namespace {

using Library = nlohmann::json;

constexpr int kMaxOwnDepth = 32;

// Builds the value while the text is read. The library's own builder takes the last of two equal
// names silently.
class JsonBuilder : public Library::json_sax_t {
 public:
  explicit JsonBuilder(int max_depth) : max_depth_(max_depth) {}

  bool is_too_deep() const { return too_deep_; }
  const std::string& repeated_name() const { return repeated_name_; }
  Json& json() { return json_; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& text) override { return add(std::move(text)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Open& object = open_.back();
    if (!object.names.insert(name).second && repeated_name_.empty()) repeated_name_ = name;
    object.members.push_back({std::move(name), {}});
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  struct Open {
    bool is_object = false;
    std::vector<Json> items = {};
    std::vector<JsonMember> members = {};
    std::unordered_set<std::string> names = {};
  };

  bool add(Json value) {
    if (open_.empty())
      json_ = std::move(value);
    else if (open_.back().is_object)
      open_.back().members.back().value = std::move(value);
    else
      open_.back().items.push_back(std::move(value));
    return true;
  }
  bool open(const Json& empty) {
    open_.push_back({.is_object = empty.is_object()});
    too_deep_ = open_.size() > static_cast<size_t>(max_depth_);
    return !too_deep_;
  }
  bool close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    return add(done.is_object ? Json::object(std::move(done.members))
                              : Json::array(std::move(done.items)));
  }

  int max_depth_;
  std::vector<Open> open_;
  Json json_;
  std::string repeated_name_;
  bool too_deep_ = false;
};

std::string print_text(const std::string& text) {
  return Library(text).dump(-1, ' ', false, Library::error_handler_t::replace);
}

void begin_line(std::string& out, int indent, int level) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent * level), ' ');
}

template <typename T, typename Print>
void print_all(std::span<const T> all, const char* brackets, std::string& out, int indent,
               int level, const Print& print_one) {
  out += brackets[0];
  for (const T& one : all) {
    if (&one != all.data()) out += ',';
    begin_line(out, indent, level + 1);
    print_one(one);
  }
  if (!all.empty()) begin_line(out, indent, level);
  out += brackets[1];
}

}  // namespace

Json::Json() : value_(nullptr) {}
Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(bool value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::initializer_list<JsonMember> members) : value_(std::vector<JsonMember>(members)) {}

Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array() { return array(std::vector<Json>{}); }

Json Json::array(std::vector<Json> items) {
  Json json;
  json.value_ = std::move(items);
  return json;
}

Json Json::object() { return object(std::vector<JsonMember>{}); }

Json Json::object(std::vector<JsonMember> members) {
  Json json;
  json.value_ = std::move(members);
  return json;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = std::vector<JsonMember>{};
  auto& members = std::get<std::vector<JsonMember>>(value_);
  const auto found = std::ranges::find(members, name, &JsonMember::name);
  if (found != members.end()) return found->value;
  members.push_back({std::string(name), {}});
  return members.back().value;
}

void Json::push_back(Json item) {
  if (is_null()) value_ = std::vector<Json>{};
  std::get<std::vector<Json>>(value_).push_back(std::move(item));
}

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_array() const { return std::holds_alternative<std::vector<Json>>(value_); }
bool Json::is_object() const { return std::holds_alternative<std::vector<JsonMember>>(value_); }

const std::string* Json::text() const { return std::get_if<std::string>(&value_); }

std::optional<bool> Json::flag() const {
  const bool* flag = std::get_if<bool>(&value_);
  return flag ? std::optional(*flag) : std::nullopt;
}

std::optional<int64_t> Json::integer() const {
  const int64_t* integer = std::get_if<int64_t>(&value_);
  return integer ? std::optional(*integer) : std::nullopt;
}

std::optional<double> Json::number() const {
  if (const double* real = std::get_if<double>(&value_)) return *real;
  if (const int64_t* whole = std::get_if<int64_t>(&value_)) return static_cast<double>(*whole);
  if (const uint64_t* large = std::get_if<uint64_t>(&value_)) return static_cast<double>(*large);
  return std::nullopt;
}

std::span<const Json> Json::items() const {
  const auto* items = std::get_if<std::vector<Json>>(&value_);
  return items ? std::span<const Json>(*items) : std::span<const Json>();
}

std::span<const JsonMember> Json::members() const {
  const auto* members = std::get_if<std::vector<JsonMember>>(&value_);
  return members ? std::span<const JsonMember>(*members) : std::span<const JsonMember>();
}

const Json* Json::find(std::string_view name) const {
  const auto all = members();
  const auto found = std::ranges::find(all, name, &JsonMember::name);
  return found == all.end() ? nullptr : &found->value;
}

bool Json::operator==(const Json& other) const {
  if (value_.index() == other.value_.index()) return value_ == other.value_;
  return number() && number() == other.number();
}

void Json::print(std::string& out, int indent, int level) const {
  const auto print_item = [&](const Json& item) { item.print(out, indent, level + 1); };
  const auto print_member = [&](const JsonMember& member) {
    out += print_text(member.name) + (indent < 0 ? ":" : ": ");
    member.value.print(out, indent, level + 1);
  };
  if (is_null()) out += "null";
  if (const bool* truth = std::get_if<bool>(&value_)) out += *truth ? "true" : "false";
  if (const int64_t* whole = std::get_if<int64_t>(&value_)) out += std::to_string(*whole);
  if (const uint64_t* large = std::get_if<uint64_t>(&value_)) out += std::to_string(*large);
  if (const double* real = std::get_if<double>(&value_)) out += Library(*real).dump();
  if (const std::string* own_text = text()) out += print_text(*own_text);
  if (is_array()) print_all(items(), "[]", out, indent, level, print_item);
  if (is_object()) print_all(members(), "{}", out, indent, level, print_member);
}

std::string Json::dump(int indent) const {
  std::string out;
  print(out, indent, 0);
  return out;
}

Json sorted(Json json) {
  if (json.is_array()) {
    std::vector<Json> items;
    for (const Json& item : json.items()) items.push_back(sorted(item));
    return Json::array(std::move(items));
  }
  if (!json.is_object()) return json;
  std::vector<JsonMember> members;
  for (const auto& [name, value] : json.members()) members.push_back({name, sorted(value)});
  std::ranges::stable_sort(members, {}, &JsonMember::name);
  return Json::object(std::move(members));
}

std::string parse_json(std::string_view text, int max_depth, Json& json) {
  JsonBuilder builder(max_depth);
  const bool is_json = Library::sax_parse(text.begin(), text.end(), &builder);
  if (builder.is_too_deep()) return fmt::format("is nested more than {} deep", max_depth);
  if (!is_json) return "is not JSON";
  if (!builder.repeated_name().empty())
    return fmt::format("names {} twice", builder.repeated_name());
  json = std::move(builder.json());
  return "";
}

Json parse_json(std::string_view text) {
  Json json;
  return parse_json(text, kMaxOwnDepth, json).empty() ? json : Json();
}

}  // namespace tessera
