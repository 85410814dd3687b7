// SPDX-License-Identifier: Apache-2.0
#include "verify/router_margin.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/convert_elements.h"
#include "ir/op_list.h"
#include "ops/moe/routing.h"

namespace tessera {
namespace {

std::vector<double> doubles_of(const TensorRef& tensor) {
  if (!tensor) return {};
  return to_doubles(*tensor.type,
                    std::span(tensor.data, static_cast<size_t>(tensor.type->bytes())));
}

// What a token's experts are chosen by.
std::vector<double> keys_of(const Routing& r, std::span<const double> logits,
                            std::span<const double> bias) {
  std::vector<double> keys(logits.begin(), logits.end());
  if (r.groups > 1 || !bias.empty()) {
    double sum = 0;
    const double largest = *std::max_element(logits.begin(), logits.end());
    for (const double logit : logits) sum += std::exp(logit - largest);
    for (double& key : keys) {
      if (r.scores_are_softmax) key = std::exp(key - largest) / sum;
      if (r.scores_are_sigmoid) key = 1 / (1 + std::exp(-key));
    }
  }
  for (size_t e = 0; e < bias.size(); ++e) keys[e] += bias[e];
  return keys;
}

// Between the least that is in and the largest that is out.
double gap_of(std::span<const double> keys, std::span<const char> in) {
  double least = INFINITY, largest = -INFINITY;
  for (size_t i = 0; i < keys.size(); ++i)
    in[i] ? least = std::min(least, keys[i]) : largest = std::max(largest, keys[i]);
  return least - largest;
}

double score_of_group(std::span<const double> keys) {
  std::vector<double> sorted(keys.begin(), keys.end());
  std::sort(sorted.rbegin(), sorted.rend());
  return sorted.size() > 1 ? sorted[0] + sorted[1] : sorted[0];
}

double margin_of(const Routing& r, std::vector<double> keys, std::span<const int32_t> chosen) {
  double size = 0, gap = INFINITY;
  for (const double key : keys) size = std::max(size, std::abs(key));
  std::vector<char> in(keys.size(), 0);
  if (r.groups > 1) {
    const auto experts = keys.size() / static_cast<size_t>(r.groups);
    std::vector<std::pair<double, size_t>> scores;
    for (size_t g = 0; g < static_cast<size_t>(r.groups); ++g)
      scores.emplace_back(-score_of_group(std::span(keys).subspan(g * experts, experts)), g);
    std::sort(scores.begin(), scores.end());
    const auto kept = static_cast<size_t>(r.kept);
    if (kept < scores.size()) gap = scores[kept].first - scores[kept - 1].first;
    for (size_t i = kept; i < scores.size(); ++i)
      std::fill_n(keys.begin() + static_cast<std::ptrdiff_t>(scores[i].second * experts), experts,
                  -INFINITY);
  }
  for (const int32_t expert : chosen) in[static_cast<size_t>(expert)] = 1;
  return std::min(gap, gap_of(keys, in)) / std::max(size, std::numeric_limits<double>::min());
}

}  // namespace

void note_margin(const InstructionEvent& event, int step, RouterMargin& margin) {
  const auto* kernel = event.instruction.as<KernelInstruction>();
  if (!event.finished || !kernel || kernel->op != OpKind::route) return;
  const TensorRef logits = event.bound.operand(0);
  const Routing r(kernel->attributes, logits.type->dims.back().size);
  const std::vector<double> all = doubles_of(logits), bias = doubles_of(event.bound.operand(1));
  const int32_t* chosen = event.bound.result(1).as<int32_t>();
  const auto experts = static_cast<size_t>(r.experts), top_k = static_cast<size_t>(r.top_k);
  for (size_t token = 0; token * experts < all.size(); ++token) {
    const std::span<const double> own = std::span(all).subspan(token * experts, experts);
    const double gap =
        margin_of(r, keys_of(r, own, bias), std::span(chosen + token * top_k, top_k));
    if (!(gap < margin.gap) && margin.known()) continue;
    margin = {.gap = gap,
              .place = fmt::format("{}, token {} of step {}",
                                   event.program.blocks[static_cast<size_t>(event.call.block)].name,
                                   token, step)};
  }
}

}  // namespace tessera
