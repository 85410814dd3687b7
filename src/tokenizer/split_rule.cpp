// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/split_rule.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "core/error.h"
#include "tokenizer/newer_characters.h"

namespace tessera {
namespace {

constexpr size_t kMaxPatternBytes = 16 << 10;
constexpr size_t kFirstStackBytes = 32 << 10, kMaxStackBytes = 4 << 20;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string error_text(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct SplitScratch::State {
  // One pair: only the position of the whole match is needed.
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kFirstStackBytes, kMaxStackBytes, nullptr);

  State() {
    TESSERA_CHECK(data && context && stack, "out of memory");
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~State() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

SplitScratch::SplitScratch() : state_(std::make_unique<State>()) {}
SplitScratch::~SplitScratch() = default;

struct SplitRule::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

SplitRule::~SplitRule() = default;
SplitRule::SplitRule(SplitRule&&) noexcept = default;

SplitRule::SplitRule(std::string_view pattern, bool literal) : code_(std::make_unique<Code>()) {
  if (pattern.size() > kMaxPatternBytes)
    throw user_error("a splitting rule has {} bytes, but at most {} are supported", pattern.size(),
                     kMaxPatternBytes)
        .help("use a shorter rule");
  const std::string text = literal ? std::string(pattern) : to_pcre2_pattern(pattern);
  const uint32_t options =
      PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK);
  int error = 0;
  size_t at = 0;
  code_->code = pcre2_compile(units(text), text.size(), options, &error, &at, nullptr);
  if (!code_->code)
    throw user_error("cannot parse the splitting rule {}: {}", text, error_text(error))
        .help("see docs/tokenizers.md for the supported rules");
  // If the system forbids compiled code, matching works without it.
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);
}

std::optional<SplitRule::Match> SplitRule::find(std::string_view text, size_t from,
                                                SplitScratch& scratch) const {
  const SplitScratch::State& state = *scratch.state_;
  const int found = pcre2_match(code_->code, units(text), text.size(), from, PCRE2_NO_UTF_CHECK,
                                state.data, state.context);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0)
    throw user_error("a splitting rule fails at byte {} of a text of {} bytes: {}", from,
                     text.size(), error_text(found))
        .help("the rule backtracks too often: use a tokenizer with a simpler rule");
  const size_t* ends = pcre2_get_ovector_pointer(state.data);
  return Match{ends[0], ends[1]};
}

namespace {

// Unicode's white space. PCRE2's own \s also has U+180E.
constexpr std::string_view kSpaces = "\\p{Z}\\t-\\r\\x{85}";
constexpr std::string_view kHexDigits = "0-9A-Fa-f";

[[noreturn]] void refuse(std::string_view what) {
  throw user_error(
      "a splitting rule has {}, which regular expression engines interpret differently", what)
      .help(
          "rules may use \\s \\S \\d \\p{..} \\r \\n \\t, classes, groups, alternatives, "
          "repetition and lookahead");
}

// The class with the characters that are newer than PCRE2.
std::string with_newer(const std::string& written, std::string_view name, bool negated,
                       bool in_class) {
  std::string ranges;
  for (const CodeRange& range : newer_characters(name))
    ranges += fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", range.first, range.last);
  if (in_class && negated && !ranges.empty()) refuse(fmt::format("{} within a class", written));
  if (in_class || ranges.empty()) return written + ranges;
  return negated ? fmt::format("[^\\p{{{}}}{}]", name, ranges)
                 : fmt::format("[{}{}]", written, ranges);
}

// \p{L}, \P{L}, \p{^L}, or a character such as \x{85}.
std::string translate_class(char escape, std::string_view name, bool in_class) {
  std::string written = fmt::format("\\{}{{{}}}", escape, name);
  if (escape != 'p' && escape != 'P') return written;
  const bool caret = name.starts_with('^');
  return with_newer(written, name.substr(caret ? 1 : 0), caret != (escape == 'P'), in_class);
}

// Translates an escape; `escape` is the letter after the backslash.
std::string translate_escape(char escape, bool in_class) {
  switch (escape) {
    case 's':
      return in_class ? std::string(kSpaces) : fmt::format("[{}]", kSpaces);
    case 'h':
      return in_class ? std::string(kHexDigits) : fmt::format("[{}]", kHexDigits);
    case 'd':
      return with_newer("\\d", "Nd", false, in_class);
    case 'S':
      if (!in_class) return fmt::format("[^{}]", kSpaces);
      refuse("\\S within a class");
    case 'D':
    case 'H':
    case 'w':
    case 'W':
    case 'b':
    case 'B':
    case 'K':
    case 'g':
    case 'k':
    case 'X':
    case 'R':
    case 'O':
    case 'y':
    case 'Y':
    case 'Q':
    case 'E':
    case 'c':
    case 'C':
    case 'M':
      refuse(fmt::format("\\{}", escape));
    default:
      return {'\\', escape};
  }
}

}  // namespace

std::string to_pcre2_pattern(std::string_view pattern) {
  std::string result;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const std::string_view rest = pattern.substr(i);
    if (c == '\\' && rest.size() > 1) {
      ++i;
      const size_t close = pattern.find('}', i);
      if (rest.substr(2).starts_with('{') && close != std::string_view::npos) {
        result += translate_class(pattern[i], pattern.substr(i + 2, close - i - 2), in_class);
        i = close;
      } else {
        result += translate_escape(pattern[i], in_class);
      }
    } else if (in_class) {
      if (rest.starts_with("&&") || c == '[') refuse("a class within a class");
      in_class = c != ']';
      result += c;
    } else {
      if (rest.starts_with("{,")) refuse("{,n}");
      if (rest.starts_with("(?") && rest.substr(2).find_first_of("msx)") == 0)
        refuse("an option other than (?i:");
      if (rest.starts_with("(*")) refuse("(*");
      if (rest.starts_with("}+")) refuse("}+");
      if (rest.starts_with("[]") || rest.starts_with("[^]")) refuse("a class that begins with ]");
      in_class = c == '[';
      result += c;
      if (rest.starts_with("[^")) {
        result += '^';
        ++i;
      }
    }
  }
  return result;
}

}  // namespace tessera
