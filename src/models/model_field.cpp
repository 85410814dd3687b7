// SPDX-License-Identifier: Apache-2.0
#include "models/model_field.h"

#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "core/choices.h"
#include "core/error.h"

namespace tessera {
namespace {

using C = ModelConfig;
constexpr int64_t kMost = int64_t{1} << 24;
constexpr int64_t kMostWidth = int64_t{1} << 20;

constexpr std::array kFields{
    ModelField{"family", "kind of model, one of the families below", &C::family},
    ModelField{"layers", "number of layers", WholeField{&C::layers, 1, 10'000}},
    ModelField{"width", "size of the residual stream", WholeField{&C::width, 1, kMostWidth}},
    ModelField{"heads", "number of query heads", WholeField{&C::heads, 1, 4'096, true}},
    ModelField{"kv_heads", "number of key and value heads, a divisor of heads; 0: as many as heads",
               WholeField{&C::kv_heads, 0, 4'096}},
    ModelField{"head_size", "size of one head of queries and keys; 0: width / heads",
               WholeField{&C::head_size, 0, 4'096}},
    ModelField{"kv_rank",
               "latent attention: size of the vector that keys and values of all heads come from; "
               "0: none",
               WholeField{&C::kv_rank, 0, kMostWidth}},
    ModelField{"q_rank", "with kv_rank: size of the vector that queries come from; 0: none",
               WholeField{&C::q_rank, 0, kMostWidth}},
    ModelField{"rope_head_size", "with kv_rank: how much of head_size is rotated; 0: half of it",
               WholeField{&C::rope_head_size, 0, 4'096}},
    ModelField{"value_head_size",
               "with kv_rank: size of one head of values; 0: head_size - rope_head_size",
               WholeField{&C::value_head_size, 0, 4'096}},
    ModelField{"mlp_size",
               "inner size of a layer's mlp; 0: width in an mlp, 8/3 x width rounded up to a "
               "multiple of 64 with swiglu, else 4 x width",
               WholeField{&C::mlp_size, 0, 4 * kMostWidth}},
    ModelField{"vocabulary", "number of different tokens; 256 for bytes",
               WholeField{&C::vocabulary, 1, kMost, true}},
    ModelField{"context", "longest sequence", WholeField{&C::context, 1, kMost, true}},
    ModelField{"activation", "relu, gelu or gelu_tanh; swiglu where the family is gated",
               &C::activation},
    ModelField{"norm_epsilon", "added to the variance before its root",
               RealField{&C::norm_epsilon, 0, 1}},
    ModelField{"rope_theta", "base of the rotation's wavelengths",
               RealField{&C::rope_theta, 1, 1e12}},
    ModelField{"rope_scaling", "how slow rotations are stretched: llama3 or yarn",
               &C::rope_scaling},
    ModelField{"rope_scaling_factor", "by how much slow rotations are stretched; 1: not at all",
               RealField{&C::rope_scaling_factor, 1, 1e6}},
    ModelField{"rope_low_freq_factor",
               "wavelengths above original context / this are stretched; yarn's beta_slow",
               RealField{&C::rope_low_freq_factor, 1e-6, 1e6}},
    ModelField{"rope_high_freq_factor",
               "wavelengths below original context / this are kept; yarn's beta_fast",
               RealField{&C::rope_high_freq_factor, 1e-6, 1e6}},
    ModelField{"rope_original_context", "context before stretching",
               WholeField{&C::rope_original_context, 1, kMost}},
    ModelField{"rope_mscale",
               "yarn's mscale: scores are multiplied by (1 + this / 10 x ln scaling factor)^2",
               RealField{&C::rope_mscale, 0, 100}},
    ModelField{"tied", "the output head shares the embedding's table", &C::tied},
    ModelField{"qk_norm", "normalise each query and key head before rope", &C::qk_norm},
    ModelField{"qk_norm_over_heads", "with qk_norm: over all heads at once",
               &C::qk_norm_over_heads},
    ModelField{"bias", "biases in linear layers", &C::bias},
    ModelField{"init_deviation", "deviation of the first weights; an mlp has its own",
               RealField{&C::init_deviation, 0, 10}},
    ModelField{"experts", "experts in each layer, in place of its mlp; 0: no mixture",
               WholeField{&C::experts, 0, 65'536}},
    ModelField{"top_k", "experts that each token is sent to; 0: 2, or all of them if fewer",
               WholeField{&C::top_k, 0, 4'096}},
    ModelField{"expert_mlp_size", "inner size of one expert; 0: mlp_size",
               WholeField{&C::expert_mlp_size, 0, 4 * kMostWidth}},
    ModelField{"shared_mlp_size", "inner size of an expert that sees every token; 0: none",
               WholeField{&C::shared_mlp_size, 0, 4 * kMostWidth}},
    ModelField{"dense_layers", "first layers, which have an mlp and no experts",
               WholeField{&C::dense_layers, 0, 10'000}},
    ModelField{"router_score", "softmax, sigmoid or topk_softmax (over the chosen experts alone)",
               &C::router_score},
    ModelField{"normalised_gates", "the gates of a token add up to 1", &C::normalised_gates},
    ModelField{"routed_scale", "factor of the gates", RealField{&C::routed_scale, 0, 1e6}},
    ModelField{"expert_groups", "equal groups of experts, a divisor of experts",
               WholeField{&C::expert_groups, 1, 65'536}},
    ModelField{"kept_groups", "groups that a token's experts are chosen from",
               WholeField{&C::kept_groups, 1, 65'536}},
    ModelField{"balance_loss", "coefficient of the loss that evens out the experts' loads",
               RealField{&C::balance_loss, 0, 1e3}},
    ModelField{"balance_scope", "tokens over which loads are counted: sequence or microbatch",
               &C::balance_scope},
    ModelField{"router_z_loss", "coefficient of the loss that keeps the router's logits small",
               RealField{&C::router_z_loss, 0, 1e3}},
    ModelField{
        "balance_rate",
        "loss-free balancing: how far each step moves the router's bias of an expert that is "
        "chosen too seldom or too often; 0: no bias",
        RealField{&C::balance_rate, 0, 1}},
};

template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

UserError misfit(const ModelField& field, std::string_view text, std::string advice) {
  return user_error("{} = {} does not fit", field.key, text)
      .at(fmt::format("model.{}", field.key))
      .help(std::move(advice));
}

UserError outside(const ModelField& field, std::string_view text, const WholeField& whole) {
  return misfit(field, text,
                fmt::format("use a whole number from {} to {}", whole.lowest, whole.highest));
}

template <typename Enum>
void read_word(Enum& out, const ModelField& field, std::string_view text,
               std::span<const std::string_view> names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) {
      out = static_cast<Enum>(i);
      return;
    }
  throw misfit(
      field, text,
      fmt::format("use {}", join_choices(std::vector<std::string>(names.begin(), names.end()))));
}

struct Read {
  ModelConfig& config;
  const ModelField& field;
  std::string_view text;

  void operator()(const WholeField& whole) const {
    const auto number = read_number<int64_t>(text);
    const bool unused = whole.of_sequences && number == 0;
    if (!number || (*number < whole.lowest && !unused) || *number > whole.highest)
      throw outside(field, text, whole);
    config.*whole.member = *number;
  }
  void operator()(const RealField& real) const {
    const auto number = read_number<double>(text);
    if (!number || !(*number >= real.lowest && *number <= real.highest))
      throw misfit(field, text,
                   fmt::format("use a number from {} to {}", real.lowest, real.highest));
    config.*real.member = *number;
  }
  void operator()(bool ModelConfig::*member) const {
    if (text != "true" && text != "false") throw misfit(field, text, "use true or false");
    config.*member = text == "true";
  }
  void operator()(Family ModelConfig::*member) const {
    const FamilyRow* row = find_family(text);
    if (!row) throw misfit(field, text, fmt::format("use {}", all_families()));
    config.*member = row->family;
  }
  void operator()(Activation ModelConfig::*member) const {
    read_word(config.*member, field, text, activation_names());
  }
  void operator()(RouterScore ModelConfig::*member) const {
    read_word(config.*member, field, text, router_score_names());
  }
  void operator()(BalanceScope ModelConfig::*member) const {
    read_word(config.*member, field, text, balance_scope_names());
  }
  void operator()(RopeScaling ModelConfig::*member) const {
    read_word(config.*member, field, text, rope_scaling_names());
  }
};

struct Print {
  const ModelConfig& config;

  std::string operator()(const WholeField& whole) const {
    return fmt::format("{}", config.*whole.member);
  }
  std::string operator()(const RealField& real) const {
    return fmt::format("{}", config.*real.member);
  }
  std::string operator()(bool ModelConfig::*member) const {
    return config.*member ? "true" : "false";
  }
  template <typename Word>
  std::string operator()(Word ModelConfig::*member) const {
    return std::string(name(config.*member));
  }
};

}  // namespace

std::span<const ModelField> model_fields() { return kFields; }

void set_model_field(ModelConfig& config, std::string_view key, std::string_view text) {
  std::vector<std::string> keys;
  for (const ModelField& field : kFields) {
    if (field.key == key) return std::visit(Read{config, field, text}, field.kind);
    keys.emplace_back(field.key);
  }
  const std::string near = nearest_name(key, keys);
  throw user_error("unknown key model.{}{}", key,
                   near.empty() ? "" : fmt::format(": did you mean model.{}?", near))
      .help(fmt::format("the fields of a model are preset, {}", fmt::join(keys, ", ")));
}

std::string model_field_text(const ModelConfig& config, const ModelField& field) {
  return std::visit(Print{config}, field.kind);
}

void check_field_ranges(const ModelConfig& config) {
  ModelConfig copy = config;
  for (const ModelField& field : kFields) {
    const std::string text = model_field_text(config, field);
    const auto* whole = std::get_if<WholeField>(&field.kind);
    if (whole && whole->of_sequences && config.has_sequence() && text == "0")
      throw outside(field, text, *whole);
    set_model_field(copy, field.key, text);
  }
}

}  // namespace tessera
