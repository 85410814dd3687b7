// SPDX-License-Identifier: Apache-2.0
// What libc++ 13, that of Debian's emscripten, lacks of C++20 and this program needs. Every file is
// compiled with it; the names and meanings are the standard's, for ranges that outlive the call.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <compare>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace std {

template <typename To, typename From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

inline strong_ordering operator<=>(const string& a, const string& b) { return a.compare(b) <=> 0; }

template <typename Items>
strong_ordering compare_items(const Items& a, const Items& b) {
  const auto [at_a, at_b] = mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at_a == a.end() || at_b == b.end()) return a.size() <=> b.size();
  return *at_a <=> *at_b;
}

template <typename T>
strong_ordering operator<=>(const vector<T>& a, const vector<T>& b) {
  return compare_items(a, b);
}

template <typename T, size_t size>
strong_ordering operator<=>(const array<T, size>& a, const array<T, size>& b) {
  return compare_items(a, b);
}

// Decimal text alone: no sign but a minus, no space, no hexadecimal digits.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const string text(first, find_if(first, last, [](char c) {
                      return !isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' &&
                             c != '+';
                    }));
  const size_t digits = text.starts_with('-') ? 1 : 0;
  const bool hexadecimal =
      text.size() > digits + 1 && text[digits] == '0' && (text[digits + 1] | 32) == 'x';
  if (hexadecimal)
    return value = digits == 1 ? -0.0 : 0.0, from_chars_result{first + digits + 1, errc{}};
  if (text.size() == digits || text[digits] == '+' || text[digits] == '-')
    return {first, errc::invalid_argument};
  char* end = nullptr;
  errno = 0;
  const double read = strtod(text.c_str(), &end);
  if (end == text.c_str()) return {first, errc::invalid_argument};
  if (errno == ERANGE) return {first + (end - text.c_str()), errc::result_out_of_range};
  value = read;
  return {first + (end - text.c_str()), errc{}};
}

// For headers that name them in what nobody calls.
to_chars_result to_chars(char* first, char* last, double value);
to_chars_result to_chars(char* first, char* last, double value, chars_format format);
to_chars_result to_chars(char* first, char* last, double value, chars_format format, int precision);

namespace ranges {

template <typename Less, typename Project>
auto by(Less& less, Project& project) {
  return [&](const auto& a, const auto& b) -> bool {
    return invoke(less, invoke(project, a), invoke(project, b));
  };
}

template <typename Range, typename Test>
auto find_if(Range&& range, Test test) {
  return std::find_if(std::begin(range), std::end(range), test);
}

template <typename Range, typename Value, typename Project = identity>
auto find(Range&& range, const Value& value, Project project = {}) {
  return std::find_if(std::begin(range), std::end(range),
                      [&](const auto& item) -> bool { return invoke(project, item) == value; });
}

template <typename Range, typename Test>
auto count_if(Range&& range, Test test) {
  return std::count_if(std::begin(range), std::end(range), test);
}

template <typename Range, typename Value>
auto count(Range&& range, const Value& value) {
  return std::count(std::begin(range), std::end(range), value);
}

template <typename Range, typename Test>
bool any_of(Range&& range, Test test) {
  return std::any_of(std::begin(range), std::end(range), test);
}

template <typename Range, typename Test>
bool all_of(Range&& range, Test test) {
  return std::all_of(std::begin(range), std::end(range), test);
}

template <typename Range, typename Test>
bool none_of(Range&& range, Test test) {
  return std::none_of(std::begin(range), std::end(range), test);
}

template <typename Range, typename Less = std::less<>, typename Project = identity>
void sort(Range&& range, Less less = {}, Project project = {}) {
  std::sort(std::begin(range), std::end(range), by(less, project));
}

template <typename Range, typename Less = std::less<>, typename Project = identity>
void stable_sort(Range&& range, Less less = {}, Project project = {}) {
  std::stable_sort(std::begin(range), std::end(range), by(less, project));
}

template <typename Range, typename Less = std::less<>, typename Project = identity>
auto min_element(Range&& range, Less less = {}, Project project = {}) {
  return std::min_element(std::begin(range), std::end(range), by(less, project));
}

template <typename Range, typename Less = std::less<>, typename Project = identity>
auto max_element(Range&& range, Less less = {}, Project project = {}) {
  return std::max_element(std::begin(range), std::end(range), by(less, project));
}

template <typename Range, typename Value, typename Less = std::less<>, typename Project = identity>
auto lower_bound(Range&& range, const Value& value, Less less = {}, Project project = {}) {
  return std::lower_bound(std::begin(range), std::end(range), value,
                          [&](const auto& item, const auto& bound) -> bool {
                            return invoke(less, invoke(project, item), bound);
                          });
}

}  // namespace ranges
}  // namespace std
