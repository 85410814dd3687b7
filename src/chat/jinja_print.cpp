// SPDX-License-Identifier: Apache-2.0
// Values as text: as Python's str(), repr() and json.dumps() write them.
#include <algorithm>
#include <cmath>

#include "chat/jinja_value.h"
#include "core/error.h"
#include "core/utf8.h"
#include "tokenizer/unicode.h"

namespace tessera {
namespace {

// Python takes the other quote where the text has the first and not the second.
std::string quoted_text(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  std::string_view rest = text;
  while (!rest.empty()) {
    const Utf8Character next = first_character(rest);
    const uint32_t code = next.bytes ? next.code : 0xFFFD;
    rest.remove_prefix(std::max<size_t>(next.bytes, 1));
    if (code == static_cast<unsigned char>(quote) || code == '\\') {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n' || code == '\r' || code == '\t') {
      out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    } else if (code != ' ' && !is_printable(code)) {
      out += code < 0x100     ? fmt::format("\\x{:02x}", code)
             : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                              : fmt::format("\\U{:08x}", code);
    } else {
      append_utf8(out, code);
    }
  }
  return out + quote;
}

template <typename Items, typename Print>
void join_into(std::string& out, const Items& items, const std::string& between, Print print) {
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += between;
    first = false;
    print(item);
  }
}

void append_json_text(std::string& out, const std::string& text, bool ascii) {
  out += '"';
  std::string_view rest = text;
  while (!rest.empty()) {
    const Utf8Character next = first_character(rest);
    const uint32_t code = next.bytes ? next.code : 0xFFFD;
    rest.remove_prefix(std::max<size_t>(next.bytes, 1));
    constexpr std::string_view kEscaped = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
    const size_t found = code < 128 ? kEscaped.find(static_cast<char>(code)) : std::string::npos;
    if (found != std::string::npos) {
      out += '\\';
      out += kLetters[found];
    } else if (code < 32 || (ascii && code > 126 && code < 0x10000)) {
      out += fmt::format("\\u{:04x}", code);
    } else if (ascii && code >= 0x10000) {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                         0xDC00 + ((code - 0x10000) & 0x3FF));
    } else {
      append_utf8(out, code);
    }
  }
  out += '"';
}

class JsonPrinter {
 public:
  JsonPrinter(std::string& out, const JinjaJsonStyle& style) : out_(out), style_(style) {}

  void print(const JinjaValue& value, int level) {
    if (value.is_none()) {
      out_ += "null";
    } else if (const bool* flag = value.get<bool>()) {
      out_ += *flag ? "true" : "false";
    } else if (const std::string* text = value.as_text()) {
      append_json_text(out_, *text, style_.ascii);
    } else if (const JinjaList* list = value.as_list()) {
      print_all(list->items, '[', ']', level,
                [&](const JinjaValue& item) { print(item, level + 1); });
    } else if (const JinjaDict* dict = value.as_dict()) {
      print_dict(*dict, level);
    } else if (const double* number = value.get<double>()) {
      out_ += std::isfinite(*number) ? float_text(*number)
              : std::isnan(*number)  ? "NaN"
              : *number > 0          ? "Infinity"
                                     : "-Infinity";
    } else if (const int64_t* integer = value.get<int64_t>()) {
      out_ += fmt::format("{}", *integer);
    } else {
      throw user_error("tojson got a {}, which JSON does not have", value.type_name())
          .help("test it with `is defined` first");
    }
  }

 private:
  void print_dict(const JinjaDict& dict, int level) {
    std::vector<const JinjaMember*> members;
    for (const JinjaMember& member : dict.members) members.push_back(&member);
    if (style_.sorted)
      std::ranges::stable_sort(
          members, [](const JinjaMember* a, const JinjaMember* b) { return a->first < b->first; });
    print_all(members, '{', '}', level, [&](const JinjaMember* member) {
      append_json_text(out_, member->first, style_.ascii);
      out_ += style_.between_pair;
      print(member->second, level + 1);
    });
  }

  template <typename Items, typename Print>
  void print_all(const Items& items, char begin, char end, int level, Print print_item) {
    const auto new_line = [&](int at) {
      if (style_.indent < 0 || items.empty()) return std::string();
      return "\n" + std::string(static_cast<size_t>(style_.indent) * static_cast<size_t>(at), ' ');
    };
    out_ += begin;
    out_ += new_line(level + 1);
    join_into(out_, items, style_.between_items + new_line(level + 1), print_item);
    out_ += new_line(level);
    out_ += end;
  }

  std::string& out_;
  const JinjaJsonStyle& style_;
};

}  // namespace

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string to_representation(const JinjaValue& value) {
  if (const std::string* text = value.as_text()) return quoted_text(*text);
  std::string out;
  if (const JinjaList* list = value.as_list()) {
    out += list->is_tuple ? '(' : '[';
    join_into(out, list->items, ", ",
              [&](const JinjaValue& item) { out += to_representation(item); });
    if (list->is_tuple && list->items.size() == 1) out += ',';
    out += list->is_tuple ? ')' : ']';
    return out;
  }
  if (const JinjaDict* dict = value.as_dict()) {
    out += '{';
    join_into(out, dict->members, ", ", [&](const JinjaMember& member) {
      out += quoted_text(member.first) + ": " + to_representation(member.second);
    });
    return out + '}';
  }
  if (value.is_undefined()) return "Undefined";
  return to_text(value);
}

std::string to_text(const JinjaValue& value) {
  if (const std::string* text = value.as_text()) return *text;
  if (value.is_undefined()) return "";
  if (value.is_none()) return "None";
  if (const bool* flag = value.get<bool>()) return *flag ? "True" : "False";
  if (const int64_t* integer = value.get<int64_t>()) return fmt::format("{}", *integer);
  if (const double* number = value.get<double>()) return float_text(*number);
  if (value.as_list() || value.as_dict()) return to_representation(value);
  throw user_error("a {} has no text", value.type_name()).help("call it, or name what it holds");
}

std::string to_json_text(const JinjaValue& value, const JinjaJsonStyle& style) {
  std::string out;
  JsonPrinter(out, style).print(value, 0);
  return out;
}

}  // namespace tessera
