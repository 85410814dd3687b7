// SPDX-License-Identifier: Apache-2.0
// The variables of a running template: those that it was given, its own, and those of each loop and
// block that it is in. A name is looked up from the inside out and set in the innermost.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja_budget.h"
#include "chat/jinja_value.h"

namespace tessera {

class JinjaScopes {
 public:
  using Scope = std::vector<JinjaMember>;

  explicit JinjaScopes(Scope given) {
    scopes_.push_back(std::move(given));
    scopes_.emplace_back();  // of the template itself
  }

  // Null where there is none.
  JinjaValue* find(std::string_view name, JinjaBudget& budget) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      budget.spend(scope->size());
      const auto found = std::ranges::find(*scope, name, &JinjaMember::first);
      if (found != scope->end()) return &found->second;
    }
    return nullptr;
  }

  void set(const std::string& name, JinjaValue value, JinjaBudget& budget) {
    set_member(scopes_.back(), name, std::move(value), budget);
  }
  static void set_member(Scope& scope, const std::string& name, JinjaValue value,
                         JinjaBudget& budget) {
    budget.spend(scope.size() + sizeof(JinjaMember));
    const auto found = std::ranges::find(scope, name, &JinjaMember::first);
    if (found != scope.end())
      found->second = std::move(value);
    else
      scope.emplace_back(name, std::move(value));
  }

  // A scope for as long as f runs.
  template <typename F>
  auto within(F f) {
    scopes_.emplace_back();
    const auto result = f();
    scopes_.pop_back();
    return result;
  }

  // The same for a macro, which sees the variables of the template, not those of its caller.
  template <typename F>
  auto within_macro(F f) {
    std::vector<Scope> callers(std::make_move_iterator(scopes_.begin() + kOuter),
                               std::make_move_iterator(scopes_.end()));
    scopes_.resize(kOuter);
    const auto result = within(f);
    std::ranges::move(callers, std::back_inserter(scopes_));
    return result;
  }

 private:
  static constexpr std::ptrdiff_t kOuter = 2;
  std::vector<Scope> scopes_;
};

}  // namespace tessera
