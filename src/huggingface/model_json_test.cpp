// SPDX-License-Identifier: Apache-2.0
#include "huggingface/model_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/testing/user_error_of.h"
#include "models/presets.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

ModelConfig parse(const Json& json) { return parse_model_json(json.dump(), "config.json"); }
std::string refusal(const Json& json) {
  return user_error_of([&] { parse(json); });
}

// Llama 3.2 1B as published, without what does not matter here.
Json llama() {
  return Json::parse(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
    "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 64, "hidden_act": "silu",
    "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192,
    "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
    "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0,
    "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
    "rope_type": "llama3"}, "rope_theta": 500000.0, "tie_word_embeddings": true,
    "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256})");
}

Json without(Json json, const char* key) {
  json.erase(key);
  return json;
}
Json with(Json json, const char* key, Json value) {
  json[key] = std::move(value);
  return json;
}

TEST(ModelJson, OfAPublishedModelIsItsPreset) {
  EXPECT_EQ(parse(llama()), resolved(find_preset("llama3-1b").config));
  const Json qwen = Json::parse(R"({"model_type": "qwen3", "head_dim": 128, "hidden_act": "silu",
    "hidden_size": 1024, "intermediate_size": 3072, "max_position_embeddings": 40960,
    "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
    "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})");
  EXPECT_EQ(parse(qwen), resolved(find_preset("qwen3-0.6b").config));
  const Json gpt2 = Json::parse(R"({"model_type": "gpt2", "activation_function": "gelu_new",
    "attn_pdrop": 0.1, "layer_norm_epsilon": 1e-05, "n_ctx": 1024, "n_embd": 768, "n_head": 12,
    "n_layer": 12, "n_positions": 1024, "vocab_size": 50257})");
  EXPECT_EQ(parse(gpt2), resolved(find_preset("gpt2-124m").config));
}

TEST(ModelJson, OfAPublishedMixtureIsItsPreset) {
  const Json qwen = Json::parse(R"({"model_type": "qwen3_moe", "attention_bias": false,
    "decoder_sparse_step": 1, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048,
    "intermediate_size": 6144, "max_position_embeddings": 40960, "mlp_only_layers": [],
    "moe_intermediate_size": 768, "norm_topk_prob": true, "num_attention_heads": 32,
    "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
    "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000.0,
    "router_aux_loss_coef": 0.001, "tie_word_embeddings": false, "use_sliding_window": false,
    "vocab_size": 151936})");
  EXPECT_EQ(parse(qwen), resolved(find_preset("qwen3-30b-a3b").config));
  const Json mixtral = Json::parse(R"({"model_type": "mixtral", "hidden_act": "silu",
    "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
    "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "num_local_experts": 8, "rms_norm_eps": 1e-05,
    "rope_theta": 1000000.0, "router_aux_loss_coef": 0.02, "sliding_window": null,
    "tie_word_embeddings": false, "vocab_size": 32000})");
  EXPECT_EQ(parse(mixtral), resolved(find_preset("mixtral-8x7b").config));
  EXPECT_EQ(parse(with(without(qwen, "num_experts"), "num_local_experts", 128)), parse(qwen));
  const Json dots = Json::parse(R"({"model_type": "dots1", "attention_bias": false,
    "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 4096,
    "intermediate_size": 10944, "max_position_embeddings": 32768, "moe_intermediate_size": 1408,
    "n_routed_experts": 128, "n_shared_experts": 2, "norm_topk_prob": true,
    "num_attention_heads": 32, "num_experts_per_tok": 6, "num_hidden_layers": 62,
    "num_key_value_heads": 32, "rms_norm_eps": 1e-05, "rope_theta": 10000000,
    "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": false,
    "vocab_size": 152064})");
  EXPECT_EQ(parse(dots), resolved(find_preset("dots-llm1").config));
  EXPECT_EQ(parse(with(with(dots, "n_group", 8), "topk_group", 4)).kept_groups, 4);
  Json windows = with(dots, "sliding_window", 4096);
  EXPECT_EQ(parse(windows), parse(dots));
  EXPECT_EQ(refusal(with(windows, "max_window_layers", 61)),
            "config.json: its last layers have a sliding_window");
  EXPECT_EQ(parse(with(qwen, "mlp_only_layers", {0, 1})).dense_layers, 2);
  EXPECT_EQ(refusal(with(qwen, "mlp_only_layers", {3})),
            "config.json: mlp_only_layers is [3], but only the first layers can be dense");
  EXPECT_EQ(refusal(with(mixtral, "sliding_window", 4096)),
            "config.json: sliding_window is 4096, but only null is supported");
}

// DeepSeek-V3 as published, without what does not matter here; its weights are then not in fp8.
Json deepseek_v3() {
  return Json::parse(R"({"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"],
    "attention_bias": false, "ep_size": 1, "first_k_dense_replace": 3, "hidden_act": "silu",
    "hidden_size": 7168, "initializer_range": 0.02, "intermediate_size": 18432, "kv_lora_rank": 512,
    "max_position_embeddings": 163840, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
    "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true,
    "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
    "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_scaling":
    {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
    "original_max_position_embeddings": 4096, "type": "yarn"}, "rope_theta": 10000,
    "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": false,
    "topk_group": 4, "topk_method": "noaux_tc", "v_head_dim": 128, "vocab_size": 129280})");
}

TEST(ModelJson, OfDeepSeekV3IsItsPresetWithALongerContext) {
  ModelConfig model = resolved(find_preset("deepseek-v3").config);
  model.context = 163840;
  model.rope_scaling = RopeScaling::Yarn;
  model.rope_scaling_factor = 40;
  model.rope_high_freq_factor = 32;
  model.rope_original_context = 4096;
  model.rope_mscale = 1;
  model.init_deviation = 0.02;
  model.balance_loss = 0;  // folders do not have it
  EXPECT_EQ(parse(deepseek_v3()), model);
  EXPECT_EQ(parse_model_json(model_json(model, DType::Bf16), "config.json"), model);
  const ModelConfig dense = parse(with(deepseek_v3(), "first_k_dense_replace", 61));
  EXPECT_FALSE(dense.has_experts());
  EXPECT_EQ(parse_model_json(model_json(dense, DType::Bf16), "config.json"), dense);
  EXPECT_EQ(parse(with(deepseek_v3(), "q_lora_rank", nullptr)).q_rank, 0);
}

TEST(ModelJson, RefusesLatentAttentionThatWeHaveNot) {
  EXPECT_EQ(refusal(with(deepseek_v3(), "rope_interleave", false)),
            "config.json: rope_interleave is false, but only true is supported");
  EXPECT_EQ(refusal(with(deepseek_v3(), "topk_method", "group_limited_greedy")),
            "config.json: topk_method is \"group_limited_greedy\", but only \"noaux_tc\" is "
            "supported");
  EXPECT_EQ(refusal(without(deepseek_v3(), "kv_lora_rank")), "config.json: it has no kv_lora_rank");
  Json scaled = deepseek_v3();
  scaled["rope_scaling"]["mscale"] = 0.707;
  EXPECT_EQ(refusal(scaled),
            "config.json: mscale is 0.707 and mscale_all_dim is 1, but only equal ones are "
            "supported");
  scaled["rope_scaling"]["type"] = "longrope";
  EXPECT_EQ(refusal(scaled), "config.json: rope_type is longrope, which is not supported");
}

TEST(ModelJson, ReadsRotationsInEitherStyle) {
  Json newer = without(without(llama(), "rope_theta"), "rope_scaling");
  newer["rope_parameters"] = llama()["rope_scaling"];
  newer["rope_parameters"]["rope_theta"] = 500000.0;
  EXPECT_EQ(parse(newer), parse(llama()));
  Json oldest = llama();
  oldest["rope_scaling"]["type"] = "llama3";
  oldest["rope_scaling"].erase("rope_type");
  EXPECT_EQ(parse(oldest), parse(llama()));
  newer["rope_parameters"]["factor"] = 1.0;
  EXPECT_EQ(parse(newer).rope_original_context, ModelConfig{}.rope_original_context);
  const ModelConfig plain = parse(with(newer, "rope_parameters", {{"rope_type", "default"}}));
  EXPECT_EQ(plain.rope_theta, 10000.0);
  EXPECT_EQ(plain.rope_scaling_factor, 1.0);
}

// As transformers does.
TEST(ModelJson, OfBothStylesOfRotationsIsReadByTheOlderOne) {
  Json both = llama();
  both["rope_parameters"] = llama()["rope_scaling"];
  both["rope_parameters"]["factor"] = 4.0;
  EXPECT_EQ(parse(both), parse(llama()));
}

TEST(ModelJson, ThatIsWrittenReadsBackTheSame) {
  for (const Preset& preset : presets()) {
    if (preset.config.family == Family::Mlp || preset.name == "deepseek-v3-gqa") continue;
    const ModelConfig model = resolved(preset.config);
    const std::string text = model_json(model, DType::Bf16);
    EXPECT_EQ(parse_model_json(text, "config.json"), model) << preset.name;
    // A reader that knows only one of the styles gets the same model.
    const Json json = Json::parse(text);
    EXPECT_EQ(parse(without(json, "rope_parameters")), model) << preset.name;
    EXPECT_EQ(parse(without(without(json, "rope_theta"), "rope_scaling")), model) << preset.name;
  }
}

TEST(ModelJson, RefusesMathsThatWeHaveNot) {
  EXPECT_EQ(refusal(with(llama(), "model_type", "mamba")),
            "config.json: model_type is mamba, which is not supported");
  EXPECT_EQ(refusal(with(llama(), "attention_bias", true)),
            "config.json: attention_bias is true, but only false is supported");
  EXPECT_EQ(refusal(with(llama(), "hidden_act", "gelu")),
            "config.json: hidden_act is \"gelu\", but only \"silu\" is supported");
  EXPECT_EQ(refusal(with(llama(), "rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}})),
            "config.json: rope_type is yarn, which is not supported");
  EXPECT_EQ(refusal(with(llama(), "quantization_config", {{"bits", 4}})),
            "config.json: its weights are quantized");
  Json sliding = with(llama(), "model_type", "qwen3");
  sliding["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_EQ(
      refusal(sliding),
      "config.json: layer_types has \"sliding_attention\", but only full_attention is supported");
}

TEST(ModelJson, RefusesWhatIsNoConfig) {
  EXPECT_EQ(refusal(without(llama(), "hidden_size")), "config.json: it has no hidden_size");
  EXPECT_EQ(refusal(with(llama(), "hidden_size", -3)), "config.json: hidden_size is -3");
  EXPECT_EQ(refusal(with(llama(), "rope_scaling", "llama3")),
            "config.json: rope_scaling is \"llama3\"");
  EXPECT_EQ(refusal(Json::array()), "config.json is not a JSON object");
  EXPECT_EQ(user_error_of([] { parse_model_json("{", "config.json"); }), "config.json is not JSON");
}

TEST(ModelJson, RefusesModelsThatTransformersHasNot) {
  ModelConfig model = resolved(find_preset("gpt2-124m").config);
  model.bias = false;
  EXPECT_EQ(user_error_of([&] { check_exportable(model); }),
            "Hugging Face has no model for gpt without biases");
  EXPECT_EQ(user_error_of([] { check_exportable(resolved(find_preset("mlp").config)); }),
            "Hugging Face has no model for family mlp");
  ModelConfig mixture = resolved(find_preset("tiny-moe").config);
  check_exportable(mixture);
  mixture.balance_rate = 0.001;
  EXPECT_NE(
      user_error_of([&] { check_exportable(mixture); }).find("a bias (balance_rate) of a router"),
      std::string::npos);
  mixture.balance_rate = 0;
  mixture.shared_mlp_size = 64;
  EXPECT_EQ(user_error_of([&] { check_exportable(mixture); }),
            "Hugging Face has no model for a shared expert of a router with softmax");
  EXPECT_EQ(
      user_error_of([] { check_exportable(resolved(find_preset("deepseek-v3-gqa").config)); }),
      "Hugging Face has no model for a router with router_score = sigmoid without qk_norm of each "
      "head");
  check_exportable(resolved(find_preset("dots-llm1").config));
  ModelConfig latent = resolved(find_preset("deepseek-v3").config);
  check_exportable(latent);
  latent.router_score = RouterScore::Softmax;
  EXPECT_EQ(user_error_of([&] { check_exportable(latent); }),
            "Hugging Face has no model for latent attention with a router of softmax");
  ModelConfig yarn = resolved(find_preset("llama3-8b").config);
  yarn.rope_scaling = RopeScaling::Yarn;
  EXPECT_EQ(user_error_of([&] { check_exportable(yarn); }),
            "Hugging Face has no model for rope_scaling = yarn without latent attention");
}

}  // namespace
}  // namespace tessera
