// SPDX-License-Identifier: Apache-2.0
#include "huggingface/tensor_map.h"

#include <fmt/format.h>

#include "checkpoint/tensor_piece.h"

namespace tessera {
namespace {

class MapBuilder {
 public:
  MapBuilder(const ModelConfig& model, ExpertLayout layout)
      : model_(model),
        merged_(layout == ExpertLayout::Merged),
        prefix_(tensor_prefix(model)),
        d_(model.width),
        kv_heads_(model.kv_heads),
        group_(model.heads / model.kv_heads),
        e_(model.head_size),
        mlp_(model.mlp_size) {}

  TensorMap gpt2() {
    same("embedding.table", "wte.weight", {model_.vocabulary, d_});
    same("embedding.position_table", "wpe.weight", {model_.context, d_});
    for (int64_t i = 0; i < model_.layers; ++i)
      gpt2_layer(fmt::format("layer.{}.", i), fmt::format("h.{}.", i));
    same("head.norm", "ln_f.weight", {d_});
    same("head.norm_bias", "ln_f.bias", {d_});
    head();
    return std::move(map_);
  }

  TensorMap llama() {
    same("embedding.table", "embed_tokens.weight", {model_.vocabulary, d_});
    for (int64_t i = 0; i < model_.layers; ++i)
      llama_layer(i, fmt::format("layer.{}.", i), fmt::format("layers.{}.", i));
    same("head.norm", "norm.weight", {d_});
    head();
    return std::move(map_);
  }

 private:
  // GPT-2's weights are [in, out], like ours; queries, keys and values are next to each other.
  void gpt2_layer(const std::string& ours, const std::string& theirs) {
    const auto named = [&](const char* name, const char* their_name, const Shape& shape) {
      same(ours + name, theirs + their_name, shape);
    };
    named("attention_norm", "ln_1.weight", {d_});
    named("attention_norm_bias", "ln_1.bias", {d_});
    const std::string weight = theirs + "attn.c_attn.weight", bias = theirs + "attn.c_attn.bias";
    side_by_side(ours + "wq", {d_, kv_heads_, group_, e_}, weight, 0);
    side_by_side(ours + "wk", {d_, kv_heads_, e_}, weight, 1);
    side_by_side(ours + "wv", {d_, kv_heads_, e_}, weight, 2);
    side_by_side(ours + "bq", {kv_heads_, group_, e_}, bias, 0);
    side_by_side(ours + "bk", {kv_heads_, e_}, bias, 1);
    side_by_side(ours + "bv", {kv_heads_, e_}, bias, 2);
    reshaped(ours + "wo", {kv_heads_, group_, e_, d_}, theirs + "attn.c_proj.weight", {d_, d_});
    named("bo", "attn.c_proj.bias", {d_});
    named("mlp_norm", "ln_2.weight", {d_});
    named("mlp_norm_bias", "ln_2.bias", {d_});
    named("up", "mlp.c_fc.weight", {d_, mlp_});
    named("up_bias", "mlp.c_fc.bias", {mlp_});
    named("down", "mlp.c_proj.weight", {mlp_, d_});
    named("down_bias", "mlp.c_proj.bias", {d_});
  }

  // Their weights are [out, in]. Query head kv_head * group + g reads key head kv_head, and rope
  // turns element i with i + e / 2, on both sides.
  void llama_layer(int64_t layer, const std::string& ours, const std::string& theirs) {
    same(ours + "attention_norm", theirs + "input_layernorm.weight", {d_});
    if (model_.has_latent_attention())
      latent_attention(ours, theirs + "self_attn.");
    else
      attention(ours, theirs + "self_attn.");
    same(ours + "mlp_norm", theirs + "post_attention_layernorm.weight", {d_});
    if (model_.has_experts() && layer >= model_.dense_layers) return experts(ours, theirs);
    gated_mlp(ours, theirs + "mlp.", mlp_);
  }

  void attention(const std::string& ours, const std::string& theirs) {
    const int64_t heads = kv_heads_ * group_;
    const auto projection = [&](const char* name) {
      return fmt::format("{}{}.weight", theirs, name);
    };
    transposed(ours + "wq", {d_, kv_heads_, group_, e_}, projection("q_proj"), {heads * e_, d_});
    transposed(ours + "wk", {d_, kv_heads_, e_}, projection("k_proj"), {kv_heads_ * e_, d_});
    transposed(ours + "wv", {d_, kv_heads_, e_}, projection("v_proj"), {kv_heads_ * e_, d_});
    transposed(ours + "wo", {kv_heads_, group_, e_, d_}, projection("o_proj"), {d_, heads * e_});
    if (model_.qk_norm && model_.qk_norm_over_heads) {
      reshaped(ours + "q_norm", {kv_heads_, group_, e_}, projection("q_norm"), {heads * e_});
      reshaped(ours + "k_norm", {kv_heads_, e_}, projection("k_norm"), {kv_heads_ * e_});
    } else if (model_.qk_norm) {
      same(ours + "q_norm", projection("q_norm"), {e_});
      same(ours + "k_norm", projection("k_norm"), {e_});
    }
  }

  // Of each head, their parts lie next to each other: not rotated and rotated, or keys and values.
  void latent_attention(const std::string& ours, const std::string& theirs) {
    const int64_t heads = kv_heads_, rope = model_.rope_head_size, nope = e_ - rope;
    const int64_t value = model_.value_head_size, kv_rank = model_.kv_rank;
    const bool direct = model_.q_rank == 0;
    const int64_t q_in = direct ? d_ : model_.q_rank;
    if (!direct) {
      transposed(ours + "wq_down", {d_, q_in}, theirs + "q_a_proj.weight", {q_in, d_});
      same(ours + "q_norm", theirs + "q_a_layernorm.weight", {q_in});
    }
    const Shape q_proj{heads * e_, q_in}, kv_proj{heads * (nope + value), kv_rank};
    const Shape kv_down{kv_rank + rope, d_};
    const std::string q = theirs + (direct ? "q_proj.weight" : "q_b_proj.weight"),
                      kv = theirs + "kv_b_proj.weight", down = theirs + "kv_a_proj_with_mqa.weight";
    for (int64_t h = 0; h < heads; ++h) {
      part_of_outputs(ours + "wq", {q_in, heads, 1, nope}, h * nope, nope, q, q_proj, h * e_);
      turned_outputs(ours + "wq_rope", {q_in, heads, 1, rope}, h * rope, q, q_proj, h * e_ + nope);
      const int64_t first = h * (nope + value);
      part_of_outputs(ours + "wk", {kv_rank, heads, nope}, h * nope, nope, kv, kv_proj, first);
      part_of_outputs(ours + "wv", {kv_rank, heads, value}, h * value, value, kv, kv_proj,
                      first + nope);
    }
    part_of_outputs(ours + "wkv_down", {d_, kv_rank}, 0, kv_rank, down, kv_down, 0);
    turned_outputs(ours + "wk_rope", {d_, rope}, 0, down, kv_down, kv_rank);
    same(ours + "kv_norm", theirs + "kv_a_layernorm.weight", {kv_rank});
    transposed(ours + "wo", {heads, 1, value, d_}, theirs + "o_proj.weight", {d_, heads * value});
  }

  // `count` outputs of a weight that is [inputs, outputs] with us and [outputs, inputs] with them,
  // from `our_first` and `their_first` on; theirs may be `step` apart.
  void part_of_outputs(const std::string& ours, const Shape& shape, int64_t our_first,
                       int64_t count, const std::string& theirs, const Shape& their_shape,
                       int64_t their_first, int64_t step = 1) {
    const int64_t inputs = their_shape[1];
    add({.ours = ours,
         .theirs = theirs,
         .rows = inputs,
         .columns = count,
         .our_begin = our_first,
         .our_row = elements_of(shape) / inputs,
         .their_begin = their_first * inputs,
         .their_row = 1,
         .their_column = step * inputs},
        shape, their_shape);
  }
  // What rope turns: their pairs are neighbours, ours half a head apart.
  void turned_outputs(const std::string& ours, const Shape& shape, int64_t our_first,
                      const std::string& theirs, const Shape& their_shape, int64_t their_first) {
    const int64_t half = model_.rope_head_size / 2;
    for (int64_t i = 0; i < 2; ++i)
      part_of_outputs(ours, shape, our_first + i * half, half, theirs, their_shape, their_first + i,
                      2);
  }

  void gated_mlp(const std::string& ours, const std::string& theirs, int64_t inner) {
    gate_up(ours + "gate_up", 0, theirs + "gate_proj.weight", inner);
    gate_up(ours + "gate_up", 1, theirs + "up_proj.weight", inner);
    transposed(ours + "down", {inner, d_}, theirs + "down_proj.weight", {d_, inner});
  }

  // Mixtral has names of its own for experts that are not merged.
  void experts(const std::string& ours, const std::string& theirs) {
    const bool mixtral = !model_.qk_norm && !model_.has_latent_attention() && !merged_;
    const std::string block = theirs + (mixtral ? "block_sparse_moe." : "mlp.");
    transposed(ours + "router", {d_, model_.experts}, block + "gate.weight", {model_.experts, d_});
    if (has_deepseek_mixture(model_)) {
      if (const std::string bias = block + "gate.e_score_correction_bias"; model_.balance_rate > 0)
        same(ours + "router_bias", bias, {model_.experts});
      else
        map_.zeros[prefix_ + bias] = {model_.experts};
      gated_mlp(ours + "shared_", block + "shared_experts.", model_.shared_mlp_size);
    }
    for (int64_t e = 0; e < model_.experts; ++e) {
      const auto named = [&](const char* name, const char* of_mixtral, const char* of_all) {
        if (merged_) return fmt::format("{}experts.{}", block, of_all);
        return fmt::format("{}experts.{}.{}.weight", block, e, mixtral ? of_mixtral : name);
      };
      expert_gate_up(ours + "expert_gate_up", e, 0, named("gate_proj", "w1", "gate_up_proj"));
      expert_gate_up(ours + "expert_gate_up", e, 1, named("up_proj", "w3", "gate_up_proj"));
      expert_down(ours + "expert_down", e, named("down_proj", "w2", "down_proj"));
    }
  }

  void expert_gate_up(const std::string& ours, int64_t e, int64_t half, const std::string& theirs) {
    const int64_t inner = model_.expert_mlp_size;
    add({.ours = ours,
         .theirs = theirs,
         .rows = d_,
         .columns = inner,
         .our_begin = (e * d_ * 2 + half) * inner,
         .our_row = 2 * inner,
         .their_begin = merged_ ? (2 * e + half) * inner * d_ : 0,
         .their_row = 1,
         .their_column = d_},
        {model_.experts, d_, 2, inner},
        merged_ ? Shape{model_.experts, 2 * inner, d_} : Shape{inner, d_});
  }
  void expert_down(const std::string& ours, int64_t e, const std::string& theirs) {
    const int64_t inner = model_.expert_mlp_size;
    add({.ours = ours,
         .theirs = theirs,
         .rows = inner,
         .columns = d_,
         .our_begin = e * inner * d_,
         .our_row = d_,
         .their_begin = merged_ ? e * inner * d_ : 0,
         .their_row = 1,
         .their_column = inner},
        {model_.experts, inner, d_}, merged_ ? Shape{model_.experts, d_, inner} : Shape{d_, inner});
  }

  void head() {
    if (model_.tied) return;
    map_.ours["head.table"] = map_.theirs["lm_head.weight"] = {model_.vocabulary, d_};
    map_.patches.push_back(
        {.ours = "head.table", .theirs = "lm_head.weight", .columns = model_.vocabulary * d_});
  }

  void add(Patch patch, Shape ours, Shape theirs) {
    patch.theirs = prefix_ + patch.theirs;
    map_.ours[patch.ours] = std::move(ours);
    map_.theirs[patch.theirs] = std::move(theirs);
    map_.patches.push_back(std::move(patch));
  }

  void same(const std::string& ours, const std::string& theirs, const Shape& shape) {
    reshaped(ours, shape, theirs, shape);
  }
  void reshaped(const std::string& ours, const Shape& shape, const std::string& theirs,
                const Shape& their_shape) {
    add({.ours = ours, .theirs = theirs, .columns = elements_of(shape)}, shape, their_shape);
  }
  void transposed(const std::string& ours, const Shape& shape, const std::string& theirs,
                  const Shape& their_shape) {
    const int64_t outputs = their_shape[0], inputs = their_shape[1];
    add({.ours = ours,
         .theirs = theirs,
         .rows = inputs,
         .columns = outputs,
         .our_row = outputs,
         .their_row = 1,
         .their_column = inputs},
        shape, their_shape);
  }
  // The `third` of three parts of the last dim of theirs.
  void side_by_side(const std::string& ours, const Shape& shape, const std::string& theirs,
                    int64_t third) {
    const int64_t rows = elements_of(shape) / d_;
    add({.ours = ours,
         .theirs = theirs,
         .rows = rows,
         .columns = d_,
         .our_row = d_,
         .their_begin = third * d_,
         .their_row = 3 * d_},
        shape, rows == 1 ? Shape{3 * d_} : Shape{rows, 3 * d_});
  }
  void gate_up(const std::string& ours, int64_t half, const std::string& theirs, int64_t inner) {
    add({.ours = ours,
         .theirs = theirs,
         .rows = d_,
         .columns = inner,
         .our_begin = half * inner,
         .our_row = 2 * inner,
         .their_row = 1,
         .their_column = d_},
        {d_, 2, inner}, {inner, d_});
  }

  const ModelConfig& model_;
  bool merged_;
  std::string prefix_;
  int64_t d_, kv_heads_, group_, e_, mlp_;
  TensorMap map_;
};

}  // namespace

bool has_deepseek_mixture(const ModelConfig& model) {
  return model.has_experts() && model.router_score == RouterScore::Sigmoid;
}

std::string tensor_prefix(const ModelConfig& model) {
  return model.family == Family::Gpt ? "transformer." : "model.";
}

TensorMap tensor_map(const ModelConfig& model, ExpertLayout layout) {
  MapBuilder builder(model, layout);
  return model.family == Family::Gpt ? builder.gpt2() : builder.llama();
}

std::string merged_experts_name(const ModelConfig& model) {
  return fmt::format("model.layers.{}.mlp.experts.gate_up_proj", model.dense_layers);
}

}  // namespace tessera
