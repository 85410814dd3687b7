// SPDX-License-Identifier: Apache-2.0
// Sums, with numbers up to kLargestTerm, as they are asked, and as they are told in the text that
// is read before. {x} and {y} are their terms, {sum} their result, {total} it with its noun.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "data/stories/story_cast.h"

namespace tessera {

inline constexpr uint64_t kLargestTerm = 20;

struct SumForm {
  char sign;
  std::string_view question, answer;
};

inline constexpr std::array<SumForm, 6> kSumForms{{
    {'+', "[What is|How much is|Tell me,] {x} [+|plus|and] {y}?", "{x} + {y} = {sum}."},
    {'+', "[What is {x} + {y}?|What is the sum of {x} and {y}?|Add {x} and {y}.|{x} + {y}?]",
     "{x} + {y} = {sum}."},
    {'-', "[What is|How much is|Tell me,] {x} [-|minus|less] {y}?", "{x} - {y} = {sum}."},
    {'-', "[What is {x} - {y}?|Take {y} from {x}.|Take {y} away from {x}.|{x} - {y}?]",
     "{x} - {y} = {sum}."},
    {'+', "{A} has {n}. {B} gives {him} {y} more. How many {many} does {A} have[ now| then|]?",
     "{x} + {y} = {sum}, so {A} has {total}."},
    {'-', "{A} has {n} and gives {y} of them to {B}. How many {many} does {A} have [now|left]?",
     "{x} - {y} = {sum}, so {A} has {total}."},
}};

inline StoryCast draw_sum(char sign, StoryDraws& draws) {
  StoryCast cast = draw_cast(draws);
  cast.n = draws.below(kLargestTerm + 1);
  cast.m = draws.below(sign == '+' ? kLargestTerm + 1 : cast.n + 1);
  cast.sum = sign == '+' ? cast.n + cast.m : cast.n - cast.m;
  return cast;
}

// The same for 3 + 4 and for 4 + 3.
inline std::string sum_key(char sign, const StoryCast& cast) {
  const bool turned = sign == '+' && cast.m > cast.n;
  return std::to_string(turned ? cast.m : cast.n) + sign + std::to_string(turned ? cast.n : cast.m);
}

}  // namespace tessera
