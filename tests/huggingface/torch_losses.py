# SPDX-License-Identifier: Apache-2.0
"""GPT-2, Llama, Qwen 3, dots.llm1 and DeepSeek-V3 in plain PyTorch, in double, straight from tensors with Hugging Face's names: what its models
compute, written from the papers. `loss` is the mean over labels that are not negative."""
import math

import torch
from torch.nn import functional as F

import folders

ACTIVATIONS = {"gelu_new": lambda x: F.gelu(x, approximate="tanh"), "gelu": F.gelu}


def load(name):
    tensors = {}
    prefix = "transformer." if folders.MODELS[name][0]["model_type"] == "gpt2" else "model."
    for key, (dtype, shape, data) in folders.tensors_of(name).items():
        full = key if key.startswith(prefix) or key == "lm_head.weight" else prefix + key
        tensors[full] = torch.tensor(folders.decode(data, dtype), dtype=torch.float64).reshape(shape)
    return tensors


def attend(q, k, v, sharper=1.0):
    """Each [batch, heads, positions, size]."""
    scores = q @ k.transpose(-1, -2) * sharper / math.sqrt(q.shape[-1])
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(later, -math.inf).softmax(-1) @ v
    return mixed.transpose(1, 2).flatten(2)


def heads_of(x, size):
    return x.unflatten(-1, (-1, size)).transpose(1, 2)


def gpt2_logits(config, w, tokens):
    d, epsilon = config["n_embd"], config["layer_norm_epsilon"]
    activation = ACTIVATIONS[config["activation_function"]]

    def norm(x, name):
        return F.layer_norm(x, (d,), w[f"transformer.{name}.weight"], w[f"transformer.{name}.bias"], epsilon)

    def conv1d(x, name):
        return x @ w[f"transformer.{name}.weight"] + w[f"transformer.{name}.bias"]

    x = w["transformer.wte.weight"][tokens] + w["transformer.wpe.weight"][:tokens.shape[1]]
    for i in range(config["n_layer"]):
        q, k, v = (heads_of(part, d // config["n_head"])
                   for part in conv1d(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(d, dim=-1))
        x = x + conv1d(attend(q, k, v), f"h.{i}.attn.c_proj")
        x = x + conv1d(activation(conv1d(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")), f"h.{i}.mlp.c_proj")
    table = w["transformer.wte.weight"] if folders.tied(config) else w["lm_head.weight"]
    return norm(x, "ln_f") @ table.T


def yarn_frequencies(rope, base, plain):
    """Between the pairs that turn beta_fast and beta_slow times within the original context, in whole pairs, the weight of
    the frequency divided by the factor rises in equal steps."""
    def pair_with(turns):
        return len(plain) * math.log(rope["original_max_position_embeddings"] / (2 * math.pi * turns)) / math.log(base)

    fast, slow = max(0, math.floor(pair_with(rope["beta_fast"]))), math.ceil(pair_with(rope["beta_slow"]))
    scaled = []
    for i, frequency in enumerate(plain):
        weight = 0.0 if i <= fast else 1.0 if i >= slow else (i - fast) / (slow - fast)
        scaled.append(weight * frequency / rope["factor"] + (1 - weight) * frequency)
    return torch.tensor(scaled, dtype=torch.float64)


def inverse_frequencies(config):
    """Of a pair, in radians per position; Llama 3.1's rule compares wavelengths with two limits."""
    rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    base = rope.get("rope_theta", config.get("rope_theta", 10000.0))
    size = config["qk_rope_head_dim"] if "kv_lora_rank" in config else folders.head_dim(config)
    plain = [base ** -(i / size) for i in range(0, size, 2)]
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return torch.tensor(plain, dtype=torch.float64)
    if kind == "yarn":
        return yarn_frequencies(rope, base, plain)
    original, low, high = (rope[key] for key in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor"))
    scaled = []
    for frequency in plain:
        wavelength = 2 * math.pi / frequency
        if wavelength < original / high:
            scaled.append(frequency)
        elif wavelength > original / low:
            scaled.append(frequency / rope["factor"])
        else:
            smooth = (original / wavelength - low) / (high - low)
            scaled.append((1 - smooth) * frequency / rope["factor"] + smooth * frequency)
    return torch.tensor(scaled, dtype=torch.float64)


def rotate(x, frequencies):
    angles = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * torch.cat([frequencies, frequencies])
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()


def gated_mlp(w, name, x):
    gate, up, down = (w[f"{name}.{part}_proj.weight"].T for part in ("gate", "up", "down"))
    return (F.silu(x @ gate) * (x @ up)) @ down


def mixture(config, w, name, x):
    """DeepSeek-V3's, one token after the other: sigmoids, the groups whose two best add up to most, then their best experts."""
    tokens, groups, out = x.flatten(0, -2), config["n_group"], []
    for token in tokens:
        scores = (w[f"{name}.gate.weight"] @ token).sigmoid()
        choice = (scores + w[f"{name}.gate.e_score_correction_bias"]).reshape(groups, -1)
        kept = choice.sort(descending=True).values[:, :2].sum(-1).sort(descending=True).indices[:config["topk_group"]]
        eligible = [int(g) * choice.shape[1] + i for g in kept for i in range(choice.shape[1])]
        chosen = sorted(eligible, key=lambda e: -choice.flatten()[e])[:config["num_experts_per_tok"]]
        total = sum(scores[e] for e in chosen) if config["norm_topk_prob"] else 1
        mixed = sum(scores[e] / total * config["routed_scaling_factor"] * gated_mlp(w, f"{name}.experts.{e}", token)
                    for e in chosen)
        out.append(mixed + gated_mlp(w, f"{name}.shared_experts", token))
    return torch.stack(out).view_as(x)


def rotate_neighbours(x, frequencies):
    """Pairs (0, 1), (2, 3) and so on, as complex numbers, the way DeepSeek's own code has it."""
    angles = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * frequencies
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


def latent_attention(config, linear, norm, name, x, frequencies):
    """DeepSeek-V3's."""
    nope, rope, rank = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["kv_lora_rank"]
    if config["q_lora_rank"]:
        q = linear(norm(linear(x, f"{name}.q_a_proj"), f"{name}.q_a_layernorm"), f"{name}.q_b_proj")
    else:
        q = linear(x, f"{name}.q_proj")
    q_nope, q_rope = heads_of(q, nope + rope).split([nope, rope], dim=-1)
    latent, k_rope = linear(x, f"{name}.kv_a_proj_with_mqa").split([rank, rope], dim=-1)
    kv = linear(norm(latent, f"{name}.kv_a_layernorm"), f"{name}.kv_b_proj")
    k_nope, v = heads_of(kv, nope + config["v_head_dim"]).split([nope, config["v_head_dim"]], dim=-1)
    k_rope = rotate_neighbours(k_rope[:, None], frequencies).expand(-1, config["num_attention_heads"], -1, -1)
    scaling = config.get("rope_scaling") or {"factor": 1, "mscale_all_dim": 0}
    sharper = (0.1 * scaling["mscale_all_dim"] * math.log(scaling["factor"]) + 1) ** 2
    mixed = attend(torch.cat([q_nope, rotate_neighbours(q_rope, frequencies)], dim=-1), torch.cat([k_nope, k_rope], dim=-1),
                   v, sharper)
    return linear(mixed, f"{name}.o_proj")


def llama_logits(config, w, tokens):
    epsilon = config["rms_norm_eps"]
    frequencies = inverse_frequencies(config)

    def norm(x, name):
        return w[f"model.{name}.weight"] * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)

    def linear(x, name):
        return x @ w[f"model.{name}.weight"].T

    def attention(x, name):
        size, group = folders.head_dim(config), config["num_attention_heads"] // config["num_key_value_heads"]
        q, k, v = (heads_of(linear(x, f"{name}.{part}_proj"), size) for part in "qkv")
        if folders.has_qk_norm(config):
            q, k = norm(q, f"{name}.q_norm"), norm(k, f"{name}.k_norm")
        q, k = rotate(q, frequencies), rotate(k, frequencies)
        k, v = (part.repeat_interleave(group, dim=1) for part in (k, v))
        return linear(attend(q, k, v), f"{name}.o_proj")

    x = w["model.embed_tokens.weight"][tokens]
    for i in range(config["num_hidden_layers"]):
        layer = f"layers.{i}"
        y, name = norm(x, f"{layer}.input_layernorm"), f"{layer}.self_attn"
        latent = "kv_lora_rank" in config
        x = x + (latent_attention(config, linear, norm, name, y, frequencies) if latent else attention(y, name))
        y = norm(x, f"{layer}.post_attention_layernorm")
        x = x + (mixture(config, w, f"model.{layer}.mlp", y) if f"model.{layer}.mlp.gate.weight" in w
                 else gated_mlp(w, f"model.{layer}.mlp", y))
    x = norm(x, "norm")
    return x @ (w["model.embed_tokens.weight"] if folders.tied(config) else w["lm_head.weight"]).T


def loss(name):
    config, batch = folders.MODELS[name][0], folders.batch_of(name)
    logits = gpt2_logits if config["model_type"] == "gpt2" else llama_logits
    found = logits(config, load(name), torch.tensor(batch["tokens"]))
    return F.cross_entropy(found.flatten(0, 1), torch.tensor(batch["labels"]).flatten(), ignore_index=-100).item()
