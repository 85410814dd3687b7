// SPDX-License-Identifier: Apache-2.0
#include "huggingface/rope_json.h"

namespace tessera {
namespace {

// Transformers multiplies what is rotated by the ratio of both mscales, which must be 1, and scores
// by the square of the second.
void read_yarn(const Fields& rope, ModelConfig& model) {
  rope.only("attention_factor", 1.0);
  rope.only("truncate", true);
  const double mscale = rope.real("mscale", 0.0), of_all = rope.real("mscale_all_dim", 0.0);
  if (!rope.find("attention_factor") && (mscale != of_all || mscale == 0))
    rope.refuse("such models cannot be imported",
                "mscale is {} and mscale_all_dim is {}, but only equal ones are supported", mscale,
                of_all);
  model.rope_scaling = RopeScaling::Yarn;
  model.rope_low_freq_factor = rope.real("beta_slow", 1.0);
  model.rope_high_freq_factor = rope.real("beta_fast", 32.0);
  model.rope_mscale = of_all;
}

Json scaling_of(const ModelConfig& model) {
  if (model.rope_scaling == RopeScaling::Llama3)
    return {{"rope_type", "llama3"},
            {"factor", model.rope_scaling_factor},
            {"low_freq_factor", model.rope_low_freq_factor},
            {"high_freq_factor", model.rope_high_freq_factor},
            {"original_max_position_embeddings", model.rope_original_context}};
  Json yarn{{"rope_type", "yarn"},
            {"factor", model.rope_scaling_factor},
            {"beta_slow", model.rope_low_freq_factor},
            {"beta_fast", model.rope_high_freq_factor},
            {"attention_factor", 1.0},
            {"original_max_position_embeddings", model.rope_original_context}};
  if (model.rope_mscale > 0) yarn["mscale"] = yarn["mscale_all_dim"] = model.rope_mscale;
  return yarn;
}

}  // namespace

void read_rope(const Fields& json, ModelConfig& model) {
  // In transformers rope_scaling takes precedence if a file has both.
  const Fields newer = json.object("rope_parameters"), older = json.object("rope_scaling");
  const Fields& rope = older.empty() ? newer : older;
  const double theta = json.real("rope_theta", newer.real("rope_theta", 10000.0));
  model.rope_theta = rope.real("rope_theta", theta);
  json.only("partial_rotary_factor", 1.0);
  rope.only("partial_rotary_factor", 1.0);
  const std::string type = rope.text("rope_type", rope.text("type", "default").c_str());
  if (type == "default") return;
  const bool yarn = type == "yarn" && model.has_latent_attention();
  if (type != "llama3" && !yarn)
    rope.refuse(
        model.has_latent_attention() ? "use default, llama3 or yarn" : "use default or llama3",
        "rope_type is {}, which is not supported", type);
  model.rope_scaling_factor = rope.real("factor", 1.0);
  if (model.rope_scaling_factor == 1.0) return;  // no scaling, whatever the other fields are
  model.rope_original_context = rope.whole("original_max_position_embeddings", model.context);
  if (yarn) return read_yarn(rope, model);
  model.rope_low_freq_factor = rope.real("low_freq_factor", 1.0);
  model.rope_high_freq_factor = rope.real("high_freq_factor", 4.0);
}

void add_rope(const ModelConfig& model, Json& json) {
  Json rope{{"rope_type", "default"}};
  json["rope_theta"] = model.rope_theta;
  if (model.rope_scaling_factor != 1.0) json["rope_scaling"] = rope = scaling_of(model);
  rope["rope_theta"] = model.rope_theta;
  json["rope_parameters"] = rope;
}

}  // namespace tessera
