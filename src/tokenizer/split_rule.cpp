// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/split_rule.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "core/error.h"
#include "tokenizer/split_dialect.h"

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

}  // namespace tessera
