#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Repeats the mixtures of `tessera_parity` with the models of transformers, from the same weights and batches: losses,
gradient norms, every gradient, the weights after the last step, in fp64. Transformers casts norms, rotations, routers and
softmaxes to fp32 whatever the model is; these casts are patched out, and once more left in, with a wider tolerance.
Balance and z losses are those of torch_models.py, on the routers' logits of transformers. Exits 77 where transformers is
missing. Not part of the suite, as Debian has no package of it.

Usage: transformers_oracle.py TESSERA_PARITY [CASE...]
"""
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    import transformers
    from transformers.models.deepseek_v3 import modeling_deepseek_v3
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import oracle
import safetensors_file
import torch_models
import weight_names

UNPATCHED = {"losses": 1e-5, "norms": 1e-5, "gradients": 1e-5}
# Of a layer: our name in torch_models.py, and that of transformers.
LAYER_NAMES = {
    "attention_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm", "attention.q_norm": "self_attn.q_norm",
    "attention.k_norm": "self_attn.k_norm", "attention.q": "self_attn.q_proj", "attention.k": "self_attn.k_proj",
    "attention.v": "self_attn.v_proj", "attention.o": "self_attn.o_proj", "mlp.router": "mlp.gate",
    "mlp.gate": "mlp.gate_proj", "mlp.up": "mlp.up_proj", "mlp.down": "mlp.down_proj",
    "mlp.shared.gate": "mlp.shared_experts.gate_proj", "mlp.shared.up": "mlp.shared_experts.up_proj",
    "mlp.shared.down": "mlp.shared_experts.down_proj", "attention.q_down": "self_attn.q_a_proj",
    "attention.kv_norm": "self_attn.kv_a_layernorm"}
OTHER_NAMES = {"words": "model.embed_tokens", "norm": "model.norm", "head": "lm_head"}


@contextlib.contextmanager
def casts_to_double():
    """Code that asks for fp32 by name gets fp64."""
    saved = torch.float, torch.float32, torch.Tensor.float
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float, torch.float32, torch.Tensor.float = saved


def common_settings(config):
    return {"vocab_size": config["vocabulary"], "hidden_size": config["width"], "num_hidden_layers": config["layers"],
            "num_attention_heads": config["heads"], "num_key_value_heads": config["kv_heads"],
            "head_dim": config["head_size"], "max_position_embeddings": config["context"],
            "rms_norm_eps": config["norm_epsilon"], "tie_word_embeddings": config["tied"], "attention_bias": False,
            "rope_parameters": {"rope_type": "default", "rope_theta": config["rope_theta"]},
            "attn_implementation": "sdpa", "experts_implementation": "eager"}


def qwen3_moe(config):
    return transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(
        **common_settings(config), intermediate_size=config["mlp_size"], num_experts=config["experts"],
        num_experts_per_tok=config["top_k"], moe_intermediate_size=config["expert_mlp_size"],
        norm_topk_prob=config["normalised_gates"]))


def olmoe(config):
    return transformers.OlmoeForCausalLM(transformers.OlmoeConfig(
        **common_settings(config), pad_token_id=None, intermediate_size=config["expert_mlp_size"], num_experts=config["experts"],
        num_experts_per_tok=config["top_k"], norm_topk_prob=config["normalised_gates"]))


def mixtral(config):
    return transformers.MixtralForCausalLM(transformers.MixtralConfig(
        **common_settings(config), intermediate_size=config["expert_mlp_size"], num_local_experts=config["experts"],
        num_experts_per_tok=config["top_k"], sliding_window=None))


def deepseek(config):
    """Llama with the mixtures of DeepSeek-V3."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **common_settings(config), intermediate_size=config["mlp_size"], mlp_bias=False))
    settings = transformers.DeepseekV3Config(
        hidden_size=config["width"], n_routed_experts=config["experts"], num_experts_per_tok=config["top_k"],
        moe_intermediate_size=config["expert_mlp_size"], n_shared_experts=1, n_group=config["expert_groups"],
        topk_group=config["kept_groups"], norm_topk_prob=config["normalised_gates"],
        routed_scaling_factor=config["routed_scale"], experts_implementation="eager")
    for layer in model.model.layers[config["dense_layers"]:]:
        layer.mlp = modeling_deepseek_v3.DeepseekV3MoE(settings)
        layer.mlp.shared_experts = modeling_deepseek_v3.DeepseekV3MLP(settings, config["shared_mlp_size"])
    return model


def deepseek_v3(config):
    """As it is published: pairs that rope turns are neighbours, and a context stretched by YaRN."""
    settings = common_settings(config)
    settings["head_dim"] = config["rope_head_size"]
    settings["rope_parameters"] = {
        "rope_type": "yarn", "rope_theta": config["rope_theta"], "factor": config["rope_scaling_factor"],
        "beta_fast": config["rope_high_freq_factor"], "beta_slow": config["rope_low_freq_factor"],
        "mscale": config["rope_mscale"], "mscale_all_dim": config["rope_mscale"],
        "original_max_position_embeddings": config["rope_original_context"]}
    return transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(
        **settings, intermediate_size=config["mlp_size"], q_lora_rank=config["q_rank"], kv_lora_rank=config["kv_rank"],
        qk_nope_head_dim=config["head_size"] - config["rope_head_size"], qk_rope_head_dim=config["rope_head_size"],
        v_head_dim=config["value_head_size"], rope_interleave=True, first_k_dense_replace=config["dense_layers"],
        n_routed_experts=config["experts"], num_experts_per_tok=config["top_k"],
        moe_intermediate_size=config["expert_mlp_size"],
        n_shared_experts=config["shared_mlp_size"] // config["expert_mlp_size"], n_group=config["expert_groups"],
        topk_group=config["kept_groups"], norm_topk_prob=config["normalised_gates"],
        routed_scaling_factor=config["routed_scale"]))


CASES = {"qwen3_moe": qwen3_moe, "olmoe": olmoe, "mixtral": mixtral, "deepseek": deepseek, "deepseek_v3": deepseek_v3}


class LatentViews:
    """The parts of each head in the weights of transformers' latent attention; what rope turns in Tessera's order, in which
    the two of a pair are half a head apart."""

    def __init__(self, config):
        self.heads, self.rope, self.nope = config["heads"], config["rope_head_size"], config["head_size"] - config["rope_head_size"]
        self.parts = {"attention.q": ("q_b_proj", self.first), "attention.q_rope": ("q_b_proj", self.rotated),
                      "attention.k": ("kv_b_proj", self.first), "attention.v": ("kv_b_proj", self.rest),
                      "attention.kv_down": ("kv_a_proj_with_mqa", lambda w: w[:config["kv_rank"]]),
                      "attention.k_rope": ("kv_a_proj_with_mqa", lambda w: self.paired(w[config["kv_rank"]:])),
                      "attention.q_norm": ("q_a_layernorm", lambda w: w)}

    def paired(self, weight):
        return weight.unflatten(-2, (self.rope // 2, 2)).transpose(-3, -2)

    def by_head(self, weight):
        return weight.unflatten(0, (self.heads, -1))

    def first(self, weight):
        return self.by_head(weight)[:, :self.nope]

    def rest(self, weight):
        return self.by_head(weight)[:, self.nope:]

    def rotated(self, weight):
        return self.paired(self.rest(weight))

    def find(self, parameters, prefix, module):
        """A view with as many dims as it needs; None where transformers has the weight as it is."""
        if module not in self.parts:
            return None
        name, part = self.parts[module]
        return part(parameters[f"{prefix}self_attn.{name}.weight"])


class FromTransformers(torch.nn.Module):
    """With the face of torch_models.Transformer."""

    def __init__(self, maker, config):
        super().__init__()
        self.inner = maker(config)
        self.latent = LatentViews(config) if config["kv_rank"] else None
        self.losses = []
        self.router = torch_models.Mixture({**config, "experts": config["experts"]})  # for its losses alone
        self.router.requires_grad_(False)
        for name, module in self.inner.named_modules():
            if name.endswith(".mlp.gate"):
                module.register_forward_hook(self.take_losses)

    def take_losses(self, _module, _inputs, outputs):
        self.router.route(outputs[0].view(*self.shape, -1))
        self.losses.append(self.router.losses)

    def parameters(self, recurse=True):
        return self.inner.parameters(recurse)

    def named_parameters(self, *arguments, **keywords):
        return self.inner.named_parameters(*arguments, **keywords)

    def get_parameter(self, target):
        return self.inner.get_parameter(target)

    def loss_sum(self, batch):
        positions, document = batch["positions"].long(), batch["document"].long()
        self.shape, self.losses = positions.shape, []
        seen = (document[:, :, None] == document[:, None, :]) & (positions[:, None, :] <= positions[:, :, None])
        mask = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -torch.inf)[:, None]
        logits = self.inner(input_ids=batch["tokens"].long(), position_ids=positions, attention_mask=mask,
                            use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].long().flatten(), ignore_index=-1,
                                                 reduction="sum")

    def router_losses(self):
        return sum(self.losses)

    label_count = staticmethod(torch_models.Transformer.label_count)


def view_of(parameters, name, latent=None):
    """What transformers has of a parameter of torch_models.py; of the experts' stacked weights a part."""
    if not name.startswith("layers."):
        module, leaf = name.rsplit(".", 1)
        return parameters[f"{OTHER_NAMES[module]}.{leaf}"]
    _, layer, inner = name.split(".", 2)
    prefix = f"model.layers.{layer}."
    module, leaf = inner.rsplit(".", 1)
    view = latent and latent.find(parameters, prefix, module)
    if view is not None:
        return view
    if not module.startswith("mlp.experts."):
        return parameters[f"{prefix}{LAYER_NAMES[module]}.{leaf}"]
    _, _, expert, part = module.split(".")
    if part == "down":
        return parameters[f"{prefix}mlp.experts.down_proj"][int(expert)]
    return parameters[f"{prefix}mlp.experts.gate_up_proj"][int(expert)].chunk(2, 0)[part == "up"]


class TorchNames:
    """Parameters of transformers under the names of torch_models.py."""

    def __init__(self, parameters, latent):
        self.parameters, self.latent = parameters, latent

    def __getitem__(self, name):
        view = view_of(self.parameters, name, self.latent)
        return view if view.dim() < 3 else view.flatten(0, -2)


class TransformersOracle(oracle.Oracle):
    @torch.no_grad()
    def load(self):
        parameters = dict(self.model.named_parameters())
        left = sum(parameter.numel() for parameter in parameters.values())
        for name in self.shapes:
            for torch_name, tensor in weight_names.to_torch(name, self.tensors[f"weight.{name}"]):
                view = view_of(parameters, torch_name, self.model.latent)
                view.copy_(tensor.view(view.shape))
                left -= tensor.numel()
        if left != 0:
            raise SystemExit(f"{left} weights of transformers were not set")

    def exported(self, parameters):
        return super().exported(TorchNames(parameters, self.model.latent))


def compare(path, maker, patched):
    tensors, metadata = safetensors_file.read(path)
    with casts_to_double() if patched else contextlib.nullcontext():
        run = TransformersOracle(tensors, metadata, "cpu", "fp64", lambda config: FromTransformers(maker, config))
        return oracle.judge(tensors, metadata, run, oracle.TOLERANCES["fp64"] if patched else UNPATCHED)


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    transformers.logging.set_verbosity_error()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        for case in sys.argv[2:] or CASES:
            path = Path(folder) / f"{case}.safetensors"
            subprocess.run([sys.argv[1], case, "fp64", str(path), "cpu"], check=True)
            for patched in (True, False):
                print(f"{case}, casts to fp32 {'patched out' if patched else 'as they are'}")
                fine &= compare(path, CASES[case], patched)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
