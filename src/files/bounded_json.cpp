// SPDX-License-Identifier: Apache-2.0
#include "files/bounded_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unordered_set>
#include <vector>

namespace tessera {
namespace {

using Json = nlohmann::json;

// Walks the text without keeping any of it but the names of the objects that are open. The parser
// that keeps values takes the last of two equal names silently, and its callbacks take quadratic
// time in objects of many objects.
class BoundsCheck : public Json::json_sax_t {
 public:
  explicit BoundsCheck(int max_depth) : max_depth_(max_depth) {}

  bool deep() const { return deep_; }
  const std::string& twice() const { return twice_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!names_.back().insert(name).second && twice_.empty()) twice_ = name;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool open() {
    names_.emplace_back();
    deep_ = names_.size() > static_cast<size_t>(max_depth_);
    return !deep_;
  }
  bool close() {
    names_.pop_back();
    return true;
  }

  int max_depth_;
  std::vector<std::unordered_set<std::string>> names_;  // of the objects around, by depth
  std::string twice_;
  bool deep_ = false;
};

}  // namespace

std::string check_bounded_json(std::string_view text, int max_depth) {
  BoundsCheck check(max_depth);
  const bool is_json = Json::sax_parse(text.begin(), text.end(), &check);
  if (check.deep()) return fmt::format("is nested more than {} deep", max_depth);
  if (!is_json) return "is not JSON";
  if (!check.twice().empty()) return fmt::format("names {} twice", check.twice());
  return "";
}

std::string parse_bounded_json(std::string_view text, int max_depth, Json& json) {
  std::string wrong = check_bounded_json(text, max_depth);
  if (wrong.empty()) json = Json::parse(text.begin(), text.end(), nullptr, false);
  return wrong;
}

}  // namespace tessera
