// SPDX-License-Identifier: Apache-2.0
#include "config/other_words.h"

#include <algorithm>
#include <array>

#include "core/choices.h"
#include "core/error.h"

namespace tessera {
namespace {

struct OtherValue {
  std::string_view key, other, ours;
};
// Megatron's `selective` rebuilds attention's scores, which no kernel of ours keeps; `attention` is
// the nearest, and rebuilds a little more (docs/parallelism/recompute.md).
constexpr std::array<OtherValue, 13> kValues{{
    {"train.precision", "bfloat16", "bf16"},
    {"train.precision", "float32", "fp32"},
    {"train.precision", "float", "fp32"},
    {"train.precision", "float64", "fp64"},
    {"train.precision", "double", "fp64"},
    {"train.precision", "float8", "fp8"},
    {"plan.reduce_dtype", "bfloat16", "bf16"},
    {"plan.reduce_dtype", "float32", "fp32"},
    {"plan.schedule", "interleaved", "interleaved_1f1b"},
    {"plan.schedule", "zbv_zero_bubble", "zb_v"},
    {"plan.recompute", "full", "block"},
    {"plan.recompute", "selective", "attention"},
    {"run.device", "gpu", "cuda"},
}};

struct OtherKey {
  std::string_view other, ours;
};
constexpr std::array<OtherKey, 19> kKeys{{
    {"lr", "train.learning_rate"},         {"max_lr", "train.learning_rate"},
    {"min_lr", "train.min_learning_rate"}, {"batch_size", "train.batch"},
    {"global_batch_size", "train.batch"},  {"seq_len", "train.seq"},
    {"seq_length", "train.seq"},           {"sequence_length", "train.seq"},
    {"block_size", "train.seq"},           {"max_steps", "train.steps"},
    {"max_iters", "train.steps"},          {"train_iters", "train.steps"},
    {"warmup", "train.warmup_steps"},      {"warmup_iters", "train.warmup_steps"},
    {"grad_clip", "train.clip_norm"},      {"max_norm", "train.clip_norm"},
    {"dtype", "train.precision"},          {"gradient_accumulation_steps", "train.microbatches"},
    {"save_every", "checkpoint.every"},
}};

void refuse_half(std::string_view key, const std::string& text) {
  for (const std::string_view half : {"fp16", "float16", "half"})
    if (same_word(text, half))
      throw user_error("{} is {}, but training in float16 is not supported", key, text)
          .help(
              "use bf16: it has the range of fp32, so nothing is scaled; a float16 model is "
              "imported exactly");
}

}  // namespace

std::string our_value(std::string_view key, std::span<const std::string_view> choices,
                      const std::string& text) {
  if (key == "train.precision" || key == "plan.reduce_dtype") refuse_half(key, text);
  const auto value = std::find_if(kValues.begin(), kValues.end(), [&](const OtherValue& row) {
    return row.key == key && same_word(row.other, text);
  });
  const std::string_view word = value != kValues.end() ? value->ours : text;
  const auto known = std::find_if(choices.begin(), choices.end(),
                                  [&](std::string_view choice) { return same_word(choice, word); });
  return known != choices.end() ? std::string(*known) : text;
}

std::string our_key(std::string_view key) {
  const size_t dot = key.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? key : key.substr(dot + 1);
  for (const OtherKey& row : kKeys)
    if (same_word(row.other, last)) return std::string(row.ours);
  return {};
}

}  // namespace tessera
