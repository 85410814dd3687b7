// SPDX-License-Identifier: Apache-2.0
#include "inference/token_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera {
namespace {

// Tokens in the order of their likelihood, found one by one: a draw needs few of them.
class LikeliestFirst {
 public:
  explicit LikeliestFirst(const std::vector<double>& logits) : less_likely_{logits} {
    rest_.resize(logits.size());
    std::iota(rest_.begin(), rest_.end(), 0);
    std::make_heap(rest_.begin(), rest_.end(), less_likely_);
  }

  int32_t at(size_t place) {
    for (; found_.size() <= place; rest_.pop_back()) {
      std::pop_heap(rest_.begin(), rest_.end(), less_likely_);
      found_.push_back(rest_.back());
    }
    return found_[place];
  }

 private:
  struct LessLikely {
    const std::vector<double>& logits;
    bool operator()(int32_t a, int32_t b) const {
      const double la = logits[static_cast<size_t>(a)], lb = logits[static_cast<size_t>(b)];
      return la != lb ? la < lb : a > b;
    }
  };

  LessLikely less_likely_;
  std::vector<int32_t> rest_, found_;
};

}  // namespace

int32_t choose_token(const std::vector<double>& logits, const TokenChoice& choice, double uniform) {
  if (choice.temperature <= 0)
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  LikeliestFirst order(logits);
  const double largest = logits[static_cast<size_t>(order.at(0))];
  const auto weight_of_logit = [&](double logit) {
    return std::exp((logit - largest) / choice.temperature);
  };
  const auto weight = [&](size_t place) {
    return weight_of_logit(logits[static_cast<size_t>(order.at(place))]);
  };
  double total = 0;
  size_t kept = logits.size();
  if (choice.top_k > 0 && static_cast<size_t>(choice.top_k) < kept) {
    kept = static_cast<size_t>(choice.top_k);
    for (size_t i = 0; i < kept; ++i) total += weight(i);
  } else {
    for (const double logit : logits) total += weight_of_logit(logit);
  }
  if (choice.top_p < 1) {
    double sum = 0;
    size_t count = 0;
    while (count < kept && sum < choice.top_p * total) sum += weight(count++);
    kept = std::max<size_t>(1, count);
    total = sum;
  }
  double left = uniform * total;
  for (size_t i = 0; i + 1 < kept; ++i)
    if ((left -= weight(i)) < 0) return order.at(i);
  return order.at(kept - 1);
}

}  // namespace tessera
