# SPDX-License-Identifier: Apache-2.0
"""Small models in folders as transformers writes them, without it: config.json and safetensors with its names and
shapes, and numbers from a seeded generator, the same everywhere."""
import json
import random
import struct

GPT2 = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 2, "n_embd": 24, "n_head": 3, "n_positions": 32,
    "n_ctx": 32, "n_inner": None, "vocab_size": 61, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05,
    "attn_pdrop": 0.1, "scale_attn_weights": True, "torch_dtype": "float32", "transformers_version": "4.40.0",
}
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 32,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 44, "vocab_size": 67,
    "max_position_embeddings": 128, "hidden_act": "silu", "rms_norm_eps": 1e-05, "attention_bias": False, "mlp_bias": False,
    "pretraining_tp": 1, "rope_scaling": None,
}
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 2, "hidden_size": 20,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12, "intermediate_size": 36, "vocab_size": 71,
    "max_position_embeddings": 64, "hidden_act": "silu", "rms_norm_eps": 1e-06, "attention_bias": False,
    "use_sliding_window": False, "sliding_window": None, "max_window_layers": 28,
}
DOTS1 = {
    "architectures": ["Dots1ForCausalLM"], "model_type": "dots1", "num_hidden_layers": 3, "hidden_size": 24,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 36, "vocab_size": 59,
    "max_position_embeddings": 64, "hidden_act": "silu", "rms_norm_eps": 1e-05, "attention_bias": False, "rope_theta": 1e7,
    "tie_word_embeddings": False, "sliding_window": None, "first_k_dense_replace": 1, "n_routed_experts": 12,
    "num_experts_per_tok": 3, "moe_intermediate_size": 10, "n_shared_experts": 2, "norm_topk_prob": True,
    "routed_scaling_factor": 2.5, "n_group": 4, "topk_group": 2,
}
DEEPSEEK_V3 = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 24,
    "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 36, "vocab_size": 59, "q_lora_rank": 14,
    "kv_lora_rank": 10, "qk_nope_head_dim": 6, "qk_rope_head_dim": 8, "v_head_dim": 5, "max_position_embeddings": 512,
    "hidden_act": "silu", "rms_norm_eps": 1e-06, "attention_bias": False, "rope_theta": 10000, "tie_word_embeddings": False,
    "first_k_dense_replace": 1, "n_routed_experts": 12, "num_experts_per_tok": 3, "moe_intermediate_size": 10,
    "n_shared_experts": 2, "norm_topk_prob": True, "routed_scaling_factor": 2.5, "n_group": 4, "topk_group": 2,
    "scoring_func": "sigmoid", "topk_method": "noaux_tc", "moe_layer_freq": 1, "num_nextn_predict_layers": 1,
    "rope_scaling": {"type": "yarn", "factor": 8, "beta_fast": 8, "beta_slow": 1, "mscale": 0.8, "mscale_all_dim": 0.8,
                     "original_max_position_embeddings": 64},
}

# name -> (config, dtype, files, prefix of the tensors is left out)
MODELS = {
    "gpt2": (GPT2, "F32", 1, False),
    "gpt2_untied": (dict(GPT2, tie_word_embeddings=False, n_inner=40, activation_function="gelu"), "F32", 3, False),
    "gpt2_without_head": (dict(GPT2, architectures=["GPT2Model"]), "F32", 1, True),
    "llama_older_style": (dict(LLAMA, rope_theta=500000.0, tie_word_embeddings=False,
                               rope_scaling=dict(LLAMA3, rope_type="llama3")), "F32", 4, False),
    "llama_newer_style": (dict(LLAMA, tie_word_embeddings=True, head_dim=8, dtype="float32",
                               rope_parameters=dict(LLAMA3, rope_type="llama3", rope_theta=500000.0)), "F32", 1, False),
    "llama_unscaled": (dict(LLAMA, head_dim=10), "BF16", 1, False),
    "llama_half": (dict(LLAMA, torch_dtype="float16"), "F16", 2, False),
    "qwen3": (dict(QWEN3, rope_theta=1000000.0, tie_word_embeddings=True, rope_scaling=None), "F32", 1, False),
    "qwen3_newer_style": (dict(QWEN3, tie_word_embeddings=False, layer_types=["full_attention"] * 2,
                               rope_parameters={"rope_type": "default", "rope_theta": 1000000.0}), "BF16", 2, False),
    "qwen_with_deepseek_mixture": (DOTS1, "F32", 2, False),
    "llama_as_deepseek_v3": (DEEPSEEK_V3, "F32", 2, False),
    "llama_latent_and_dense": (dict(DEEPSEEK_V3, first_k_dense_replace=3, q_lora_rank=None, rope_scaling=None), "BF16", 1,
                               False),
}


def tied(config):
    return config.get("tie_word_embeddings", config["model_type"] == "gpt2")


def has_qk_norm(config):
    return config["model_type"] in ("qwen3", "dots1")


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def gpt2_shapes(config):
    d, inner = config["n_embd"], config["n_inner"] or 4 * config["n_embd"]
    shapes = {"wte.weight": [config["vocab_size"], d], "wpe.weight": [config["n_positions"], d]}
    layer = {"ln_1.weight": [d], "ln_1.bias": [d], "attn.c_attn.weight": [d, 3 * d], "attn.c_attn.bias": [3 * d],
             "attn.c_proj.weight": [d, d], "attn.c_proj.bias": [d], "ln_2.weight": [d], "ln_2.bias": [d],
             "mlp.c_fc.weight": [d, inner], "mlp.c_fc.bias": [inner], "mlp.c_proj.weight": [inner, d], "mlp.c_proj.bias": [d]}
    for i in range(config["n_layer"]):
        shapes.update({f"h.{i}.{name}": shape for name, shape in layer.items()})
    shapes.update({"ln_f.weight": [d], "ln_f.bias": [d]})
    return {f"transformer.{name}": shape for name, shape in shapes.items()}


def gated_mlp(name, d, inner):
    return {f"{name}.gate_proj.weight": [inner, d], f"{name}.up_proj.weight": [inner, d], f"{name}.down_proj.weight": [d, inner]}


def mlp_shapes(config, layer):
    """A mixture from layer first_k_dense_replace on."""
    d = config["hidden_size"]
    if layer < config.get("first_k_dense_replace", layer + 1):
        return gated_mlp("mlp", d, config["intermediate_size"])
    experts, inner = config["n_routed_experts"], config["moe_intermediate_size"]
    shapes = {"mlp.gate.weight": [experts, d], "mlp.gate.e_score_correction_bias": [experts]}
    for e in range(experts):
        shapes.update(gated_mlp(f"mlp.experts.{e}", d, inner))
    return shapes | gated_mlp("mlp.shared_experts", d, inner * config["n_shared_experts"])


def attention_shapes(config):
    d, e = config["hidden_size"], head_dim(config)
    q, kv = config["num_attention_heads"] * e, config["num_key_value_heads"] * e
    shapes = {"q_proj.weight": [q, d], "k_proj.weight": [kv, d], "v_proj.weight": [kv, d], "o_proj.weight": [d, q]}
    if has_qk_norm(config):
        shapes.update({"q_norm.weight": [e], "k_norm.weight": [e]})
    return shapes


def latent_shapes(config):
    d, heads, q_rank, kv_rank = (config[key] for key in ("hidden_size", "num_attention_heads", "q_lora_rank", "kv_lora_rank"))
    nope, rope, value = (config[key] for key in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    q = heads * (nope + rope)
    shapes = {"q_a_proj.weight": [q_rank, d], "q_a_layernorm.weight": [q_rank], "q_b_proj.weight": [q, q_rank]}
    return (shapes if q_rank else {"q_proj.weight": [q, d]}) | {
        "kv_a_proj_with_mqa.weight": [kv_rank + rope, d], "kv_a_layernorm.weight": [kv_rank],
        "kv_b_proj.weight": [heads * (nope + value), kv_rank], "o_proj.weight": [d, heads * value]}


def llama_shapes(config):
    d = config["hidden_size"]
    attention = latent_shapes(config) if "kv_lora_rank" in config else attention_shapes(config)
    layer = {"input_layernorm.weight": [d], "post_attention_layernorm.weight": [d]}
    layer.update({f"self_attn.{name}": shape for name, shape in attention.items()})
    shapes = {"embed_tokens.weight": [config["vocab_size"], d], "norm.weight": [d]}
    for i in range(config["num_hidden_layers"]):
        shapes.update({f"layers.{i}.{name}": shape for name, shape in (layer | mlp_shapes(config, i)).items()})
    return {f"model.{name}": shape for name, shape in shapes.items()}


def shapes_of(config):
    shapes = gpt2_shapes(config) if config["model_type"] == "gpt2" else llama_shapes(config)
    if not tied(config):
        shapes["lm_head.weight"] = list(next(iter(shapes.values())))
    return shapes


def values(name, count):
    """Norms around one, all else around zero, large enough for attention to be far from even."""
    generator = random.Random(name)
    centre = 1.0 if "norm.weight" in name or "ln_" in name and name.endswith("weight") else 0.0
    return [centre + generator.uniform(-0.4, 0.4) for _ in range(count)]


def encode(numbers, dtype):
    if dtype == "F32":
        return struct.pack(f"<{len(numbers)}f", *numbers)
    if dtype == "F16":
        return struct.pack(f"<{len(numbers)}e", *numbers)
    return b"".join(struct.pack("<f", number)[2:] for number in numbers)  # bf16: the upper half


def decode(data, dtype):
    if dtype == "F16":
        return struct.unpack(f"<{len(data) // 2}e", data)
    if dtype == "BF16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    return struct.unpack(f"<{len(data) // 4}f", data)


def tensors_of(name):
    """{name: (dtype, shape, bytes)}"""
    config, dtype, _, bare = MODELS[name]
    tensors = {}
    for key, shape in shapes_of(config).items():
        count = 1
        for size in shape:
            count *= size
        stored = key.partition(".")[2] if bare and key != "lm_head.weight" else key
        tensors[stored] = (dtype, shape, encode(values(key, count), dtype))
    return tensors


def further_tensors(name):
    """A few of a layer that predicts a further token; they are left out."""
    config, dtype, _, _ = MODELS[name]
    layer, d = f"model.layers.{config.get('num_hidden_layers')}", config.get("hidden_size")
    shapes = {f"{layer}.enorm.weight": [d], f"{layer}.eh_proj.weight": [d, 2 * d]} if config.get("num_nextn_predict_layers") else {}
    return {key: (dtype, shape, encode([0.0] * (d * (2 * d if len(shape) > 1 else 1)), dtype)) for key, shape in shapes.items()}


def write_safetensors(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def read_safetensors(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length:]
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items()}


def read_folder(folder):
    """All tensors, through the index where there is one."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return read_safetensors(folder / "model.safetensors")
    weight_map = json.loads(index.read_text())["weight_map"]
    files = {file: read_safetensors(folder / file) for file in set(weight_map.values())}
    return {name: files[file][name] for name, file in weight_map.items()}


def write_folder(name, folder):
    config, _, files, _ = MODELS[name]
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    tensors = tensors_of(name) | further_tensors(name)
    if files == 1:
        write_safetensors(folder / "model.safetensors", tensors)
        return
    weight_map = {}
    for i in range(files):
        file = f"model-{i + 1:05}-of-{files:05}.safetensors"
        part = {key: tensor for j, (key, tensor) in enumerate(tensors.items()) if j % files == i}
        write_safetensors(folder / file, part)
        weight_map.update(dict.fromkeys(part, file))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map}))


def batch_of(name):
    """Rows of tokens and of what should follow them; some labels are ignored."""
    config, generator = MODELS[name][0], random.Random(f"tokens of {name}")
    rows, length = 3, 29
    tokens = [[generator.randrange(config["vocab_size"]) for _ in range(length)] for _ in range(rows)]
    labels = [[-100 if generator.random() < 0.2 else generator.randrange(config["vocab_size"]) for _ in range(length)]
              for _ in range(rows)]
    return {"tokens": tokens, "labels": labels}
