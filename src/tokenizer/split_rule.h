// SPDX-License-Identifier: Apache-2.0
// A regular expression that cuts text into pieces, compiled by PCRE2. Rules are shared by threads;
// each thread has a scratch.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// The memory for matching, usable with any rule.
class SplitScratch {
 public:
  SplitScratch();
  ~SplitScratch();
  SplitScratch(const SplitScratch&) = delete;
  SplitScratch& operator=(const SplitScratch&) = delete;

 private:
  friend class SplitRule;
  struct State;
  std::unique_ptr<State> state_;
};

class SplitRule {
 public:
  // `literal`: the pattern is plain text. A pattern that cannot be parsed is a UserError.
  SplitRule(std::string_view pattern, bool literal);
  ~SplitRule();
  SplitRule(SplitRule&&) noexcept;
  SplitRule& operator=(SplitRule&&) = delete;

  struct Match {
    size_t begin, end;
  };
  // The first match from `from` on, in valid UTF-8.
  std::optional<Match> find(std::string_view text, size_t from, SplitScratch& scratch) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

// Translates splitting rules from Oniguruma to PCRE2. Syntax that both interpret in the same way
// stays; white space and hex digits are expanded; everything else is rejected.
std::string to_pcre2_pattern(std::string_view pattern);  // a UserError names what is rejected

}  // namespace tessera
