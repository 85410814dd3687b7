// SPDX-License-Identifier: Apache-2.0
#include "record/scan_step.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace tessera {
namespace {

constexpr int kDeepestPassedOver = 16;

// Reads from the front of a text; false and nothing where something else is there.
class LineScanner {
 public:
  explicit LineScanner(std::string_view text) : rest_(text) {}

  bool take(char letter) {
    skip_spaces();
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A zero byte ends a text for the JSON library, too: a power cut leaves them.
  bool at_end() { return next() == '\0'; }
  char next() {
    skip_spaces();
    return rest_.empty() ? '\0' : rest_.front();
  }
  // A text between quotes as it stands: escapes are passed over, not resolved.
  std::optional<std::string_view> take_text() {
    if (!take('"')) return {};
    for (size_t at = 0; at < rest_.size(); ++at) {
      if (rest_[at] == '\\') {
        ++at;
      } else if (rest_[at] == '"') {
        const std::string_view text = rest_.substr(0, at);
        rest_.remove_prefix(at + 1);
        return text;
      }
    }
    return {};
  }
  std::optional<double> take_number() {
    skip_spaces();
    double value = 0;
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    // What is too small for a double is 0, or nearly so; what is too large is no figure.
    if (problem == std::errc::result_out_of_range)
      value = std::strtod(std::string(rest_.data(), end).c_str(), nullptr);
    else if (problem != std::errc())
      return {};
    if (!std::isfinite(value)) return {};
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  bool pass_word() {
    for (const std::string_view word : {"null", "true", "false"})
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return true;
      }
    return false;
  }
  // An object or an array with all that is in it.
  bool pass_nested() {
    int depth = 0;
    do {
      const char letter = next();
      if (letter == '"') {
        if (!take_text()) return false;
        continue;
      }
      if (letter == '\0') return false;
      if (letter == '{' || letter == '[') ++depth;
      if (letter == '}' || letter == ']') --depth;
      if (depth > kDeepestPassedOver) return false;
      rest_.remove_prefix(1);
    } while (depth > 0);
    return true;
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t' ||
                              rest_.front() == '\r' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

void take_figure(StepRecord& record, std::string_view key, double value, size_t& expected) {
  if (key == "step") {
    record.step = value >= 0 && value < 1e15 ? static_cast<int64_t>(value) : 0;
    return;
  }
  // Lines have their fields in the order of the table, so the one after the last is mostly meant.
  const std::span<const StepField> fields = step_fields();
  for (size_t tried = 0; tried < fields.size(); ++tried) {
    const size_t at = (expected + tried) % fields.size();
    if (key != fields[at].key) continue;
    fields[at].of(record) = value;
    expected = at + 1;
    return;
  }
}

}  // namespace

std::optional<StepRecord> scan_step(std::string_view line) {
  LineScanner scanner(line);
  if (!scanner.take('{')) return {};
  StepRecord record;
  size_t expected = 0;
  bool more = !scanner.take('}');
  while (more) {
    const std::optional<std::string_view> key = scanner.take_text();
    if (!key || !scanner.take(':')) return {};
    if (key->find('\\') != std::string_view::npos) return parse_step(line);  // an escaped name
    const char next = scanner.next();
    if (next == '{' || next == '[') {
      if (!scanner.pass_nested()) return {};
    } else if (next == '"') {
      if (!scanner.take_text()) return {};
    } else if (next == '-' || (next >= '0' && next <= '9')) {
      const std::optional<double> value = scanner.take_number();
      if (!value) return {};
      take_figure(record, *key, *value, expected);
    } else if (!scanner.pass_word()) {
      return {};
    }
    more = scanner.take(',');
    if (!more && !scanner.take('}')) return {};
  }
  return scanner.at_end() ? std::optional(record) : std::nullopt;
}

}  // namespace tessera
