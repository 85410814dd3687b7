// SPDX-License-Identifier: Apache-2.0
#include "huggingface/model_json.h"

#include <algorithm>
#include <array>

#include "core/choices.h"
#include "core/error.h"
#include "huggingface/json_fields.h"
#include "huggingface/rope_json.h"
#include "huggingface/tensor_map.h"

namespace tessera {
namespace {

constexpr int kModelDepth = 16;

struct ActivationName {
  std::string_view theirs;
  Activation ours;
};
// The first row for each of our activations is the one that is written.
constexpr std::array<ActivationName, 4> kActivations{{{"gelu_new", Activation::GeluTanh},
                                                      {"gelu_pytorch_tanh", Activation::GeluTanh},
                                                      {"gelu", Activation::Gelu},
                                                      {"relu", Activation::Relu}}};

ModelConfig read_gpt2(const Fields& json) {
  json.only("scale_attn_weights", true);
  json.only("scale_attn_by_inverse_layer_idx", false);
  json.only("add_cross_attention", false);
  ModelConfig model{.family = Family::Gpt,
                    .layers = json.whole("n_layer"),
                    .width = json.whole("n_embd"),
                    .heads = json.whole("n_head"),
                    .mlp_size = json.whole("n_inner", 0),
                    .vocabulary = json.whole("vocab_size"),
                    .context = json.whole("n_positions"),
                    .norm_epsilon = json.real("layer_norm_epsilon", 1e-5),
                    .tied = json.flag("tie_word_embeddings", true),
                    .bias = true};
  const std::string name = json.text("activation_function", "gelu_new");
  for (const ActivationName& known : kActivations)
    if (known.theirs == name) {
      model.activation = known.ours;
      return model;
    }
  json.refuse("use gelu_new, gelu_pytorch_tanh, gelu or relu",
              "activation_function is {}, which is not supported", name);
}

// Pairs that rope turns lie next to each other in their weights, and half a head apart in ours.
void read_latent_attention(const Fields& json, ModelConfig& model) {
  json.only("rope_interleave", true);
  model.kv_rank = json.whole("kv_lora_rank");
  model.q_rank = json.whole("q_lora_rank", 0);
  model.rope_head_size = json.whole("qk_rope_head_dim");
  model.head_size = json.whole("qk_nope_head_dim") + model.rope_head_size;
  model.value_head_size = json.whole("v_head_dim");
}

ModelConfig read_llama(const Fields& json) {
  json.only("hidden_act", "silu");
  json.only("attention_bias", false);
  json.only("mlp_bias", false);
  ModelConfig model{.family = Family::Llama,
                    .layers = json.whole("num_hidden_layers"),
                    .width = json.whole("hidden_size"),
                    .heads = json.whole("num_attention_heads"),
                    .kv_heads = json.whole("num_key_value_heads", 0),
                    .head_size = json.whole("head_dim", 0),
                    .mlp_size = json.whole("intermediate_size"),
                    .vocabulary = json.whole("vocab_size"),
                    .context = json.whole("max_position_embeddings"),
                    .activation = Activation::Swiglu,
                    .norm_epsilon = json.real("rms_norm_eps", 1e-6),
                    .tied = json.flag("tie_word_embeddings", false)};
  if (json.text("model_type", "") == "deepseek_v3") read_latent_attention(json, model);
  read_rope(json, model);
  return model;
}

ModelConfig read_qwen3(const Fields& json) {
  json.only("use_sliding_window", false);
  if (const Json* types = json.find("layer_types"))
    for (const Json& type : types->items())
      if (type != "full_attention")
        json.refuse("such models cannot be imported",
                    "layer_types has {}, but only full_attention is supported", type.dump());
  ModelConfig model = read_llama(json);
  model.family = Family::Qwen;
  model.head_size = json.whole("head_dim", 128);
  model.qk_norm = true;
  return model;
}

// The first layers may be dense; a mixture in every second one, say, is not supported.
void read_dense_layers(const Fields& json, ModelConfig& model) {
  json.only("decoder_sparse_step", 1);
  const Json* dense = json.find("mlp_only_layers");
  if (!dense) return;
  for (const Json& layer : dense->items())
    if (layer.integer() != model.dense_layers++)
      json.refuse("such models cannot be imported",
                  "mlp_only_layers is {}, but only the first layers can be dense", dense->dump());
}

// transformers 5 writes num_local_experts for every kind.
void read_experts(const Fields& json, ModelConfig& model) {
  model.experts = json.whole(json.find("num_experts") ? "num_experts" : "num_local_experts");
  model.top_k = json.whole("num_experts_per_tok");
  model.router_z_loss = json.real("router_z_loss_coef", 0.0);
}

ModelConfig read_qwen3_moe(const Fields& json) {
  ModelConfig model = read_qwen3(json);
  read_experts(json, model);
  model.expert_mlp_size = json.whole("moe_intermediate_size");
  model.normalised_gates = json.flag("norm_topk_prob", false);
  model.balance_loss = json.real("router_aux_loss_coef", 0.001);
  read_dense_layers(json, model);
  return model;
}

ModelConfig read_olmoe(const Fields& json) {
  json.only("clip_qkv", Json());
  ModelConfig model = read_llama(json);
  model.qk_norm = model.qk_norm_over_heads = true;
  read_experts(json, model);
  model.normalised_gates = json.flag("norm_topk_prob", false);
  model.balance_loss = json.real("router_aux_loss_coef", 0.01);
  return model;
}

ModelConfig read_mixtral(const Fields& json) {
  json.only("sliding_window", Json());
  ModelConfig model = read_llama(json);
  read_experts(json, model);
  model.balance_loss = json.real("router_aux_loss_coef", 0.001);
  return model;
}

// A sigmoid router, groups, and experts that see every token.
void read_deepseek_mixture(const Fields& json, ModelConfig& model) {
  json.only("moe_layer_freq", 1);
  model.experts = json.whole("n_routed_experts");
  model.top_k = json.whole("num_experts_per_tok");
  model.expert_mlp_size = json.whole("moe_intermediate_size");
  model.shared_mlp_size = json.whole("n_shared_experts") * model.expert_mlp_size;
  model.dense_layers = json.whole("first_k_dense_replace", 0);
  model.router_score = RouterScore::Sigmoid;
  model.normalised_gates = json.flag("norm_topk_prob", false);
  model.routed_scale = json.real("routed_scaling_factor", 1.0);
  model.expert_groups = json.whole("n_group", 1);
  model.kept_groups = json.whole("topk_group", 1);
  model.balance_loss = json.real("router_aux_loss_coef", 0.0);
  model.router_z_loss = json.real("router_z_loss_coef", 0.0);
  model.balance_rate = 0.001;  // DeepSeek-V3's: folders have the biases, but not their rate
}

// DeepSeek-V3's mixture with Qwen 3's attention. Layers from max_window_layers on have a window.
ModelConfig read_dots1(const Fields& json) {
  ModelConfig model = read_qwen3(json);
  if (!json.find("layer_types") && json.find("sliding_window") &&
      model.layers > json.whole("max_window_layers", 62))
    json.refuse("such models cannot be imported", "its last layers have a sliding_window");
  model.head_size = json.whole("head_dim", 0);
  read_deepseek_mixture(json, model);
  return model;
}

// Without experts where all layers are dense.
ModelConfig read_deepseek_v3(const Fields& json) {
  ModelConfig model = read_llama(json);
  json.only("scoring_func", "sigmoid");
  json.only("topk_method", "noaux_tc");
  if (json.whole("first_k_dense_replace", 3) < model.layers) read_deepseek_mixture(json, model);
  return model;
}

struct Kind {
  const char* model_type;
  const char* architecture;
  Family family;
  ModelConfig (*read)(const Fields&);
};
constexpr std::array<Kind, 8> kKinds{
    {{"gpt2", "GPT2LMHeadModel", Family::Gpt, read_gpt2},
     {"llama", "LlamaForCausalLM", Family::Llama, read_llama},
     {"qwen3", "Qwen3ForCausalLM", Family::Qwen, read_qwen3},
     {"mixtral", "MixtralForCausalLM", Family::Llama, read_mixtral},
     {"qwen3_moe", "Qwen3MoeForCausalLM", Family::Qwen, read_qwen3_moe},
     {"olmoe", "OlmoeForCausalLM", Family::Llama, read_olmoe},
     {"dots1", "Dots1ForCausalLM", Family::Qwen, read_dots1},
     {"deepseek_v3", "DeepseekV3ForCausalLM", Family::Llama, read_deepseek_v3}}};

const Kind& kind_of(const ModelConfig& model) {
  if (model.own)
    throw user_error("the model is a program's own, for which Hugging Face has no architecture")
        .help("its checkpoints hold every tensor by name: tessera checkpoint convert");
  if (model.family == Family::Gpt) return kKinds[0];
  if (model.has_latent_attention()) return kKinds[7];
  if (!model.has_experts()) return kKinds[model.qk_norm ? 2 : 1];
  if (has_deepseek_mixture(model)) return kKinds[6];
  if (!model.qk_norm) return kKinds[3];
  return kKinds[model.qk_norm_over_heads ? 5 : 4];
}

Json gpt2_json(const ModelConfig& model) {
  std::string_view activation;
  for (const ActivationName& known : kActivations)
    if (activation.empty() && known.ours == model.activation) activation = known.theirs;
  return {{"n_layer", model.layers},
          {"n_embd", model.width},
          {"n_head", model.heads},
          {"n_inner", model.mlp_size},
          {"n_positions", model.context},
          {"n_ctx", model.context},
          {"activation_function", activation},
          {"layer_norm_epsilon", model.norm_epsilon}};
}

Json llama_json(const ModelConfig& model) {
  Json json{{"num_hidden_layers", model.layers},
            {"hidden_size", model.width},
            {"num_attention_heads", model.heads},
            {"num_key_value_heads", model.kv_heads},
            {"head_dim", model.head_size},
            {"intermediate_size", model.mlp_size},
            {"max_position_embeddings", model.context},
            {"hidden_act", "silu"},
            {"rms_norm_eps", model.norm_epsilon},
            {"attention_bias", false}};
  add_rope(model, json);
  if (!model.has_latent_attention()) return json;
  json["head_dim"] = json["qk_rope_head_dim"] = model.rope_head_size;
  json["qk_nope_head_dim"] = model.head_size - model.rope_head_size;
  json["v_head_dim"] = model.value_head_size;
  json["kv_lora_rank"] = model.kv_rank;
  json["q_lora_rank"] = model.q_rank > 0 ? Json(model.q_rank) : Json();
  json["rope_interleave"] = true;
  json["num_nextn_predict_layers"] = 0;
  json["first_k_dense_replace"] = model.layers;  // or as the mixture has it
  return json;
}

void add_deepseek_mixture(const ModelConfig& model, Json& json) {
  json["n_routed_experts"] = model.experts;
  // transformers knows no other router; vLLM and llama.cpp do.
  json["scoring_func"] = "sigmoid";
  json["topk_method"] = "noaux_tc";
  json["moe_layer_freq"] = 1;
  json["num_experts_per_tok"] = model.top_k;
  json["moe_intermediate_size"] = model.expert_mlp_size;
  json["n_shared_experts"] = model.shared_mlp_size / model.expert_mlp_size;
  json["first_k_dense_replace"] = model.dense_layers;
  json["norm_topk_prob"] = model.normalised_gates;
  json["routed_scaling_factor"] = model.routed_scale;
  json["n_group"] = model.expert_groups;
  json["topk_group"] = model.kept_groups;
  json["sliding_window"] = nullptr;
  if (model.balance_loss > 0) json["router_aux_loss_coef"] = model.balance_loss;
  if (model.router_z_loss > 0) json["router_z_loss_coef"] = model.router_z_loss;
}

// Fields that their configs do not know are ignored there.
void add_experts(const ModelConfig& model, Json& json) {
  std::vector<int64_t> dense;
  for (int64_t i = 0; i < model.dense_layers; ++i) dense.push_back(i);
  const bool qwen = model.qk_norm && !model.qk_norm_over_heads;
  json[model.qk_norm ? "num_experts" : "num_local_experts"] = model.experts;
  json["num_experts_per_tok"] = model.top_k;
  json["router_aux_loss_coef"] = model.balance_loss;
  if (model.router_z_loss > 0) json["router_z_loss_coef"] = model.router_z_loss;
  json[qwen ? "moe_intermediate_size" : "intermediate_size"] = model.expert_mlp_size;
  if (model.qk_norm) json["norm_topk_prob"] = model.normalised_gates;
  if (!qwen) return;
  json["decoder_sparse_step"] = 1;
  json["mlp_only_layers"] = dense;
}

}  // namespace

ModelConfig parse_model_json(std::string_view text, const std::filesystem::path& path) {
  Json json;
  const std::string wrong = parse_json(text, kModelDepth, json);
  if (!wrong.empty() || !json.is_object())
    throw user_error("{} {}", path.string(), wrong.empty() ? "is not a JSON object" : wrong)
        .help("give a Hugging Face model folder");
  const Fields fields(json, path.string());
  const std::string type = fields.text("model_type", "");
  std::vector<std::string> types;
  for (const Kind& kind : kKinds) {
    types.emplace_back(kind.model_type);
    if (type != kind.model_type) continue;
    if (fields.find("quantization_config"))
      fields.refuse("import the model from before quantization", "its weights are quantized");
    ModelConfig model = kind.read(fields);
    model.init_deviation = fields.real("initializer_range", model.init_deviation);
    try {
      return resolved(model);
    } catch (const UserError& error) {
      throw UserError(error).at(path.string());
    }
  }
  fields.refuse(fmt::format("use {}", join_choices(types)),
                "model_type is {}, which is not supported", type.empty() ? "not given" : type);
}

void check_exportable(const ModelConfig& model) {
  const auto refuse = [&](std::string_view what) {
    throw user_error("Hugging Face has no model for {}", what)
        .help(
            "models like GPT-2 (gpt with biases), Llama 3, Qwen 3, Mixtral, Qwen 3 MoE, OLMoE, "
            "dots.llm1 and DeepSeek-V3 can be exported");
  };
  if (std::none_of(kKinds.begin(), kKinds.end(),
                   [&](const Kind& kind) { return kind.family == model.family; }))
    refuse(fmt::format("family {}", name(model.family)));
  const bool latent = model.has_latent_attention();
  if (!latent && model.rope_scaling == RopeScaling::Yarn && model.rope_scaling_factor != 1.0)
    refuse("rope_scaling = yarn without latent attention");
  if (model.has_experts()) {
    const bool qwen = model.qk_norm && !model.qk_norm_over_heads;
    if (model.router_score == RouterScore::TopkSoftmax)
      refuse(fmt::format("a router with router_score = {}", name(model.router_score)));
    if (has_deepseek_mixture(model)) {
      if (!qwen && !latent)
        refuse("a router with router_score = sigmoid without qk_norm of each head");
      if (model.shared_mlp_size == 0 || model.shared_mlp_size % model.expert_mlp_size != 0)
        refuse(
            "a router with router_score = sigmoid where shared_mlp_size is no multiple of "
            "expert_mlp_size");
    } else {
      if (latent) refuse("latent attention with a router of softmax");
      if (model.balance_rate > 0) refuse("a bias (balance_rate) of a router with softmax");
      if (model.shared_mlp_size > 0) refuse("a shared expert of a router with softmax");
      if (model.routed_scale != 1.0) refuse("a routed_scale of a router with softmax");
      if (model.expert_groups > 1) refuse("groups of experts of a router with softmax");
    }
    if (model.dense_layers > 0 && !qwen && !latent)
      refuse("dense layers without qk_norm of each head");
    if (!model.normalised_gates && !model.qk_norm && !latent)
      refuse("gates that are not normalised without qk_norm");
  } else if (model.qk_norm_over_heads) {
    refuse("qk_norm_over_heads without experts");
  }
  if (model.family != Family::Gpt) return;
  if (!model.bias) refuse("gpt without biases");
  if (model.kv_heads != model.heads) refuse("gpt with fewer kv_heads than heads");
  if (model.head_size * model.heads != model.width)
    refuse("gpt whose heads times head_size is not its width");
}

std::string model_json(const ModelConfig& model, DType weights, const TextEnds& ends) {
  const Kind& kind = kind_of(model);
  Json json{{"architectures", Json::array({kind.architecture})},
            {"model_type", kind.model_type},
            {"torch_dtype", weights == DType::Bf16   ? "bfloat16"
                            : weights == DType::Fp64 ? "float64"
                                                     : "float32"},
            {"vocab_size", model.vocabulary},
            {"tie_word_embeddings", model.tied},
            {"initializer_range", model.init_deviation},
            {"bos_token_id", ends.begin},
            {"eos_token_id", ends.end}};
  Json own = model.family == Family::Gpt ? gpt2_json(model) : llama_json(model);
  if (has_deepseek_mixture(model))
    add_deepseek_mixture(model, own);
  else if (model.has_experts())
    add_experts(model, own);
  for (const auto& [name, value] : own.members()) json[name] = value;
  return json.dump(2) + "\n";
}

}  // namespace tessera
