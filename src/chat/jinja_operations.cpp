// SPDX-License-Identifier: Apache-2.0
// The operators of expressions, as Python's.
#include <algorithm>
#include <cmath>

#include "chat/jinja_arguments.h"
#include "chat/python_text.h"
#include "core/error.h"

namespace tessera {
namespace {

[[noreturn]] void refuse_operation(std::string_view operation, const JinjaValue& a,
                                   const JinjaValue& b) {
  throw user_error("{} of a {} and a {} is not defined", operation, a.type_name(), b.type_name())
      .help("test with `is defined` first, or turn one into text with | string");
}

void require_fit(bool overflows) {
  if (overflows) throw UserError("a whole number does not fit 64 bits").help("use smaller numbers");
}

// Rounded down, as Python's; C++ rounds towards zero.
int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) throw UserError("a division by zero").help("test the divisor first");
  if (b == -1) {
    require_fit(a == INT64_MIN);
    return -a;
  }
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (base >= -1 && base <= 1) return base == -1 ? (exponent % 2 ? -result : result) : base;
    require_fit(__builtin_mul_overflow(result, base, &result));
  }
  return result;
}

JinjaValue integer_operation(std::string_view operation, int64_t a, int64_t b) {
  int64_t result = 0;
  if (operation == "+" || operation == "-" || operation == "*") {
    require_fit(operation == "+"   ? __builtin_add_overflow(a, b, &result)
                : operation == "-" ? __builtin_sub_overflow(a, b, &result)
                                   : __builtin_mul_overflow(a, b, &result));
    return JinjaValue(result);
  }
  if (operation == "//") return JinjaValue(floor_quotient(a, b));
  if (operation == "%") {
    if (b == -1) return JinjaValue(int64_t{0});
    return JinjaValue(a - floor_quotient(a, b) * b);
  }
  if (operation == "**" && b >= 0) return JinjaValue(integer_power(a, b));
  if (b == 0 && operation == "/")
    throw UserError("a division by zero").help("test the divisor first");
  if (operation == "/") return JinjaValue(static_cast<double>(a) / static_cast<double>(b));
  return JinjaValue(std::pow(static_cast<double>(a), static_cast<double>(b)));
}

JinjaValue float_operation(std::string_view operation, double a, double b) {
  if (operation == "+") return JinjaValue(a + b);
  if (operation == "-") return JinjaValue(a - b);
  if (operation == "*") return JinjaValue(a * b);
  if (operation == "**") return JinjaValue(std::pow(a, b));
  if (b == 0) throw UserError("a division by zero").help("test the divisor first");
  if (operation == "/") return JinjaValue(a / b);
  if (operation == "//") return JinjaValue(std::floor(a / b));
  return JinjaValue(a - std::floor(a / b) * b);
}

JinjaValue repeated(const JinjaValue& value, int64_t times, JinjaBudget& budget) {
  times = std::max<int64_t>(times, 0);
  const std::string* text = value.as_text();
  const size_t bytes = text ? text->size() : value.as_list()->items.size() * sizeof(JinjaValue);
  int64_t all = 0;
  if (__builtin_mul_overflow(static_cast<int64_t>(bytes), times, &all)) all = INT64_MAX / 2;
  budget.spend(static_cast<size_t>(all));
  if (text) {
    std::string out;
    for (int64_t i = 0; i < times && !text->empty(); ++i) out += *text;
    return JinjaValue::text(std::move(out));
  }
  std::vector<JinjaValue> items;
  const JinjaList& list = *value.as_list();
  for (int64_t i = 0; i < times && !list.items.empty(); ++i)
    items.insert(items.end(), list.items.begin(), list.items.end());
  return JinjaValue::list(std::move(items), list.is_tuple);
}

JinjaValue concatenated(const JinjaValue& a, const JinjaValue& b, JinjaBudget& budget) {
  if (a.as_text() && b.as_text()) {
    budget.spend(a.as_text()->size() + b.as_text()->size());
    return JinjaValue::text(*a.as_text() + *b.as_text());
  }
  const JinjaList *left = a.as_list(), *right = b.as_list();
  if (!left || !right || left->is_tuple != right->is_tuple) refuse_operation("+", a, b);
  budget.spend((left->items.size() + right->items.size()) * sizeof(JinjaValue));
  std::vector<JinjaValue> items = left->items;
  items.insert(items.end(), right->items.begin(), right->items.end());
  return JinjaValue::list(std::move(items), left->is_tuple);
}

bool contains(const JinjaValue& all, const JinjaValue& part, JinjaBudget& budget) {
  if (const std::string* text = all.as_text()) {
    if (!part.as_text()) refuse_operation("in", part, all);
    budget.spend(text->size() + part.as_text()->size());
    return find_text(*text, *part.as_text(), 0) != std::string::npos;
  }
  if (const JinjaDict* dict = all.as_dict()) {
    budget.spend(dict->members.size() * sizeof(JinjaMember));
    return part.as_text() && dict->find(*part.as_text());
  }
  if (const JinjaList* list = all.as_list()) {
    for (const JinjaValue& item : list->items) {
      spend_on(item, budget);
      spend_on(part, budget);
      if (item == part) return true;
    }
    return false;
  }
  if (all.is_undefined()) return false;
  refuse_operation("in", part, all);
}

// The places that a Python slice takes.
std::vector<size_t> slice_places(int64_t size, const JinjaValue& begin, const JinjaValue& end,
                                 const JinjaValue& step) {
  const auto given = [](const JinjaValue& value, int64_t& to) {
    if (value.is_undefined() || value.is_none()) return false;
    int64_t storage = 0;
    const int64_t* number = value.as_integer(storage);
    if (!number) throw user_error("a slice has a {}", value.type_name()).help("use whole numbers");
    to = *number;
    return true;
  };
  int64_t by = 1;
  given(step, by);
  if (by == 0) throw UserError("a slice has a step of 0").help("use another step");
  const int64_t lowest = by > 0 ? 0 : -1, highest = by > 0 ? size : size - 1;
  const auto bound = [&](const JinjaValue& value, int64_t otherwise) {
    int64_t at = 0;
    if (!given(value, at)) return otherwise;
    if (at < 0) at = at < -size ? lowest : at + size;
    return std::clamp(at, lowest, highest);
  };
  const int64_t from = bound(begin, by > 0 ? lowest : highest);
  const int64_t to = bound(end, by > 0 ? highest : lowest);
  std::vector<size_t> places;
  for (int64_t at = from; by > 0 ? at < to : at > to;) {
    places.push_back(static_cast<size_t>(at));
    if (__builtin_add_overflow(at, by, &at)) break;
  }
  return places;
}

}  // namespace

void spend_on(const JinjaValue& value, JinjaBudget& budget) {
  if (const std::string* text = value.as_text()) {
    budget.spend(text->size());
  } else if (const JinjaList* list = value.as_list()) {
    budget.spend(sizeof(JinjaList));
    for (const JinjaValue& item : list->items) spend_on(item, budget);
  } else if (const JinjaDict* dict = value.as_dict()) {
    budget.spend(sizeof(JinjaDict));
    for (const auto& [name, item] : dict->members) {
      // Dicts are compared by looking for each name of one in the other.
      budget.spend(name.size() + dict->members.size());
      spend_on(item, budget);
    }
  } else {
    budget.spend(0);
  }
}

std::vector<JinjaValue> items_of(const JinjaValue& value, JinjaBudget& budget) {
  std::vector<JinjaValue> items;
  if (const JinjaList* list = value.as_list()) {
    budget.spend(list->items.size() * sizeof(JinjaValue));
    items = list->items;
  } else if (const JinjaDict* dict = value.as_dict()) {
    for (const auto& [name, unused] : dict->members) {
      budget.spend(name.size() + sizeof(JinjaValue));
      items.push_back(JinjaValue::text(name));
    }
  } else if (const std::string* text = value.as_text()) {
    constexpr size_t kEach = 80;  // of a text of one character
    budget.spend(text->size() * kEach);
    const std::vector<size_t> begins = character_begins(*text);
    for (size_t i = 0; i + 1 < begins.size(); ++i)
      items.push_back(JinjaValue::text(text->substr(begins[i], begins[i + 1] - begins[i])));
  } else if (!value.is_undefined()) {
    throw user_error("a {} has no items to go through", value.type_name())
        .help("test with `is iterable` first");
  }
  return items;
}

JinjaValue jinja_binary(std::string_view operation, const JinjaValue& a, const JinjaValue& b,
                        JinjaBudget& budget) {
  if (operation == "~") {
    spend_on(a, budget);
    spend_on(b, budget);
    return JinjaValue::text(to_text(a) + to_text(b));
  }
  int64_t a_storage = 0, b_storage = 0;
  const int64_t *left = a.as_integer(a_storage), *right = b.as_integer(b_storage);
  if (left && right) return integer_operation(operation, *left, *right);
  double x = 0, y = 0;
  if (a.as_number(x) && b.as_number(y)) return float_operation(operation, x, y);
  if (operation == "+") return concatenated(a, b, budget);
  if (operation == "*" && right && (a.as_text() || a.as_list())) return repeated(a, *right, budget);
  if (operation == "*" && left && (b.as_text() || b.as_list())) return repeated(b, *left, budget);
  refuse_operation(operation, a, b);
}

bool jinja_compare(std::string_view operation, const JinjaValue& a, const JinjaValue& b,
                   JinjaBudget& budget) {
  if (operation == "in") return contains(b, a, budget);
  if (operation == "not in") return !contains(b, a, budget);
  spend_on(a, budget);
  spend_on(b, budget);
  if (operation == "==") return a == b;
  if (operation == "!=") return !(a == b);
  const auto holds = [&](const auto& x, const auto& y) {
    return operation == "<"    ? x < y
           : operation == "<=" ? x <= y
           : operation == ">"  ? x > y
                               : x >= y;
  };
  double x = 0, y = 0;
  if (a.as_number(x) && b.as_number(y)) return holds(x, y);
  if (a.as_text() && b.as_text()) return holds(*a.as_text(), *b.as_text());
  refuse_operation(operation, a, b);
}

JinjaValue jinja_slice(const JinjaValue& of, const JinjaValue& begin, const JinjaValue& end,
                       const JinjaValue& step, JinjaBudget& budget) {
  if (const JinjaList* list = of.as_list()) {
    budget.spend(list->items.size() * sizeof(JinjaValue));
    std::vector<JinjaValue> items;
    for (const size_t at : slice_places(std::ssize(list->items), begin, end, step))
      items.push_back(list->items[at]);
    return JinjaValue::list(std::move(items), list->is_tuple);
  }
  const std::string* text = of.as_text();
  if (!text) throw user_error("a {} has no slices", of.type_name()).help("slice a list or a text");
  budget.spend(text->size() * 2 * sizeof(size_t));
  const std::vector<size_t> begins = character_begins(*text);
  std::string out;
  for (const size_t at : slice_places(std::ssize(begins) - 1, begin, end, step))
    out += text->substr(begins[at], begins[at + 1] - begins[at]);
  return JinjaValue::text(std::move(out));
}

JinjaValue jinja_item(const JinjaValue& of, const JinjaValue& index, JinjaBudget& budget) {
  const std::string* name = index.as_text();
  if (const JinjaDict* dict = of.as_dict(); dict && name) {
    budget.spend(dict->members.size());
    const JinjaValue* found = dict->find(*name);
    return found ? *found : jinja_method(of, *name);
  }
  int64_t storage = 0;
  const int64_t* number = index.as_integer(storage);
  if (number && of.as_list()) {
    const std::vector<JinjaValue>& items = of.as_list()->items;
    const int64_t at = *number < 0 ? *number + std::ssize(items) : *number;
    return at >= 0 && at < std::ssize(items) ? items[static_cast<size_t>(at)] : JinjaValue();
  }
  if (number && of.as_text()) {
    if (*number == INT64_MAX) return JinjaValue();
    const JinjaValue end = *number == -1 ? JinjaValue() : JinjaValue(*number + 1);
    const JinjaValue one = jinja_slice(of, index, end, JinjaValue(), budget);
    return one.as_text()->empty() ? JinjaValue() : one;
  }
  if (of.is_undefined() || of.is_none())
    throw user_error("a {} has no item {}", of.type_name(), to_representation(index))
        .help("test it with `is defined` first");
  return name ? jinja_method(of, *name) : JinjaValue();
}

}  // namespace tessera
