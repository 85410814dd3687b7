#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where transformers is installed: models that it makes at random and saves, one file and several, are imported, have
its losses, and come back from an export with the bits of every tensor. Prints a line a model; exit code 1 where one
differs, 77 where transformers is missing. Not part of the suite, as Debian has no package of it.

Usage: transformers_check.py BINARY [KIND...]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TOLERANCE = 1e-5  # fp32 on both sides, relative
VOCABULARY = 320
ROPE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64}
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 3,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512}


def gpt2(tied):
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=48, n_layer=3, n_head=4, n_positions=256,
                                     tie_word_embeddings=tied)
    return transformers.GPT2LMHeadModel(config)


def llama(tied):
    config = transformers.LlamaConfig(**SIZES, rope_theta=500000.0, rope_scaling=dict(ROPE), tie_word_embeddings=tied)
    return transformers.LlamaForCausalLM(config)


def qwen3(tied):
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZES, head_dim=32, tie_word_embeddings=tied))


def qwen3_moe(tied):
    return transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(
        **SIZES, head_dim=32, tie_word_embeddings=tied, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=48,
        norm_topk_prob=True))


def mixtral(tied):
    return transformers.MixtralForCausalLM(transformers.MixtralConfig(
        **SIZES, tie_word_embeddings=tied, num_local_experts=4, num_experts_per_tok=2))


def olmoe(tied):
    return transformers.OlmoeForCausalLM(transformers.OlmoeConfig(
        **SIZES, tie_word_embeddings=tied, num_experts=8, num_experts_per_tok=3))


def dots1(tied):
    return transformers.Dots1ForCausalLM(transformers.Dots1Config(
        **SIZES, tie_word_embeddings=tied, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=48,
        n_shared_experts=2, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=4,
        topk_group=2))


def deepseek_v3(tied):
    sizes = dict(SIZES, num_key_value_heads=4)
    yarn = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "beta_fast": 16, "beta_slow": 1, "mscale": 1.0,
            "mscale_all_dim": 1.0, "original_max_position_embeddings": 64}
    return transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(
        **sizes, tie_word_embeddings=tied, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=48,
        n_shared_experts=2, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=4,
        topk_group=2, q_lora_rank=None if tied else 40, kv_lora_rank=24, qk_nope_head_dim=20, qk_rope_head_dim=16,
        v_head_dim=12, **({} if tied else {"rope_parameters": yarn})))


# maker, tied, dtype, largest file
CASES = [(gpt2, True, torch.float32, "1GB"), (gpt2, False, torch.float32, "100KB"), (llama, False, torch.float32, "200KB"),
         (llama, True, torch.float32, "1GB"), (llama, True, torch.bfloat16, "1GB"), (qwen3, True, torch.float32, "1GB"),
         (qwen3, False, torch.bfloat16, "200KB"), (qwen3_moe, False, torch.float32, "1GB"),
         (qwen3_moe, True, torch.float32, "200KB"), (mixtral, False, torch.float32, "1GB"), (olmoe, False, torch.float32, "1GB"),
         (dots1, False, torch.float32, "1GB"), (deepseek_v3, False, torch.float32, "1GB"),
         (deepseek_v3, True, torch.float32, "200KB")]


def tessera(binary, folder, *words):
    done = subprocess.run([binary, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"tessera {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


@torch.no_grad()
def loss_of(folder, tokens):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).float().eval()
    return model(input_ids=tokens, labels=tokens).loss.item()


@torch.no_grad()
def save(maker, tied, dtype, largest, folder):
    """With attention far from even and norms that are not one."""
    model = maker(tied).to(dtype)
    for parameter in model.parameters():
        parameter.add_(torch.randn(parameter.shape).mul(0.1).to(dtype))
    model.save_pretrained(folder, max_shard_size=largest)
    return model.state_dict()


def check(binary, folder, case):
    before = save(*case, folder / "model")
    tokens = torch.randint(0, VOCABULARY, (2, 200))
    (folder / "tokens.json").write_text(json.dumps({"tokens": tokens.tolist()}))
    tessera(binary, folder, "import", "model", "--out", "run")
    tessera(binary, folder, "export", "run", "--out", "back", "--shard-size", "150KB")
    theirs, losses = loss_of(folder / "model", tokens), {"export": loss_of(folder / "back", tokens)}
    for name in ("model", "run"):
        words = ("evaluate", name, "tokens.json", "--precision", "fp32", "--batch", 2, "--json")
        losses[name] = json.loads(tessera(binary, folder, *words))["loss"]
    after = transformers.AutoModelForCausalLM.from_pretrained(folder / "back", dtype=case[2]).state_dict()
    same = before.keys() == after.keys() and all(torch.equal(before[key], after[key]) for key in before)
    good = same and all(abs(loss - theirs) <= TOLERANCE * theirs for loss in losses.values())
    print(f"{'ok ' if good else 'BAD'} {case[0].__name__:9} tied {case[1]!s:5} {str(case[2])[6:]:9} loss {theirs:.7f}, "
          f"imported {losses['run']:.7f}, bits {'equal' if same else 'DIFFER'}")
    return good


def main():
    torch.manual_seed(1)
    transformers.logging.set_verbosity_error()
    good = True
    for case in CASES:
        if sys.argv[2:] and case[0].__name__ not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            good = check(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder), case) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
